import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { check, get, Refused, Session } from "../src/session";

/** A socket whose other end is the test. */
class Socket {
  static OPEN = 1;
  static last: Socket;
  readyState = Socket.OPEN;
  binaryType = "";
  sent: { id: number; type: string }[] = [];
  onopen = () => {};
  onerror = () => {};
  onclose = () => {};
  onmessage: (event: { data: unknown }) => void = () => {};

  constructor(readonly address: string) {
    Socket.last = this;
  }

  send(text: string): void {
    this.sent.push(JSON.parse(text));
  }

  say(message: object): void {
    this.onmessage({ data: JSON.stringify(message) });
  }
}

Object.assign(globalThis, { WebSocket: Socket, location: { protocol: "http:", host: "127.0.0.1:8000" } });

const PROBLEM = { field: "aqm", message: "pj: unknown", line: 3, column: 7, length: 2, lane: null };
const STATE = { type: "state", playing: false, speed: 1, now: 0, ended: false };
let session: Session;
let socket: Socket;

beforeEach(async () => {
  const connecting = Session.connect();
  socket = Socket.last;
  socket.onopen();
  session = await connecting;
});

test("it connects to where the page came from", () => assert.equal(socket.address, "ws://127.0.0.1:8000/session"));

test("a connection that is refused says what to open", async () => {
  const connecting = Session.connect();
  Socket.last.onerror();
  await assert.rejects(connecting, /open the address that `aqmlab studio` prints/);
});

test("answers find their questions in any order, and are news too", async () => {
  const heard: string[] = [];
  session.onMessage = ({ type }) => heard.push(type);
  const [one, other] = [session.ask({ type: "pause" }), session.ask({ type: "mark", name: "here" })];
  const [first, second] = socket.sent.map(({ id }) => id);
  socket.say({ type: "marks", marks: [], id: second });
  socket.say({ ...STATE, id: first });
  assert.deepEqual([(await one).type, (await other).type, heard], ["state", "marks", ["marks", "state"]]);
});

test("what the server refuses is an error with its lines, and no news", async () => {
  session.onMessage = () => assert.fail("a refusal is no news");
  const asked = session.ask({ type: "open", aqms: [] });
  socket.say({ type: "problem", problems: [PROBLEM], id: socket.sent[0]!.id });
  await assert.rejects(asked, (error) => error instanceof Refused && error.message === "pj: unknown" && error.problems[0]!.line === 3);
});

test("when the server ends all questions fail, and nothing more is sent", async () => {
  let lost = 0;
  session.onLost = () => lost++;
  const asked = session.ask({ type: "pause" });
  [socket.readyState] = [3];
  socket.onclose();
  await assert.rejects(asked, /The server has stopped/);
  session.tell({ type: "seen", sequence: 1 });
  assert.deepEqual([lost, socket.sent.length], [1, 1]);
});

test("binary messages are frames", () => {
  let rows = 0;
  session.onFrame = (frame) => (rows = frame.rows);
  const view = new DataView(new ArrayBuffer(48));
  view.setUint32(12, 2, true);
  view.setUint32(16, 1, true);
  socket.onmessage({ data: view.buffer });
  assert.equal(rows, 2);
});

function answering(status: number, body: string): void {
  Object.assign(globalThis, { fetch: async () => new Response(body, { status, statusText: "Internal Server Error" }) });
}

test("a route answers, or its error is told", async () => {
  answering(200, '{"version": "1"}');
  assert.deepEqual(await get("/api/catalogue"), { version: "1" });
  answering(404, '{"error": "no such lesson"}');
  await assert.rejects(get("/api/lessons/x"), /^Error: no such lesson$/);
  answering(500, "<html>");
  await assert.rejects(get("/api/lessons/x"), /^Error: Internal Server Error$/);
});

test("a scenario is checked: its problems, none, or why it could not be", async () => {
  answering(200, JSON.stringify({ problems: [PROBLEM] }));
  assert.deepEqual(await check("", []), [PROBLEM]);
  answering(413, '{"error": "larger than 1 MiB"}');
  assert.deepEqual((await check("", [])).map(({ message, line }) => [message, line]), [["larger than 1 MiB", null]]);
});
