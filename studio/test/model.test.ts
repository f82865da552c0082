import assert from "node:assert/strict";
import { test } from "node:test";
import { column, frame, lane, opened, playing, TIME } from "./server";

const shown = (values: Float32Array, length: number): number[] => [...values.subarray(0, length)];

test("rows of a frame grow the curves, and the server hears that it was seen", () => {
  const { model, server } = playing();
  server.onFrame(frame([[0.05, 3, 4], [0.1, 5, 6]], { sequence: 9, speed: 2 }));
  const place = model.place(column("queue", "link", 1))!;
  assert.deepEqual(shown(model.rows.column(place), model.rows.length), [4, 6]);
  assert.deepEqual([model.now, model.measured], [0.1, 2]);
  assert.deepEqual(server.told, [{ type: "seen", sequence: 9 }]);
});

test("a frame of an earlier arrangement of columns is seen and left out", () => {
  const { model, server } = playing(opened({ epoch: 2 }));
  server.onFrame(frame([[0.05, 3, 4]], { epoch: 1 }));
  assert.deepEqual([model.rows.length, server.told.length], [0, 1]);
});

test("a frame without rows moves the clock while it plays only", () => {
  const { model, server } = playing();
  server.onFrame(frame([], { now: 7 }));
  assert.equal(model.now, 0);
  server.state(1, true);
  server.onFrame(frame([], { now: 7 }));
  assert.equal(model.now, 7);
});

test("what is opened takes the place of what was there", () => {
  const { model, server } = playing();
  server.onFrame(frame([[0.05, 3, 4]]));
  server.state(0.05, true);
  server.onMessage(opened({ epoch: 2, columns: [TIME, column("delay")] }));
  assert.deepEqual([model.rows.length, model.playing, model.now, model.turn], [0, false, 0, 2]);
  assert.deepEqual([model.place(column("queue")), model.place(column("delay"))], [undefined, 1]);
});

test("an opening that is refused leaves the one before", async () => {
  const { model, server } = playing();
  await model.open({ scenario: "home/call", aqms: ["pi", "codel"] });
  server.answer = () => {
    throw new Error("no such scheme");
  };
  await assert.rejects(model.open({ scenario: "home/call", aqms: ["pj"] }), /no such scheme/);
  assert.deepEqual(model.opening.aqms, ["pi", "codel"]);
});

test("running up to a time ends there", async () => {
  const { model, server } = playing();
  assert.equal(await model.until(4), true);
  assert.deepEqual([model.now, server.asked], [4, [{ type: "play", until: 4 }]]);
  assert.equal(await model.until(3), true);
  assert.equal(server.asked.length, 1);
});

test("a simulation that breaks down while it plays stops, and its problem is heard", async () => {
  const { model, server } = playing();
  const heard: string[] = [];
  model.onProblem = (problems) => heard.push(...problems.map(({ message }) => message));
  const problem = { field: null, message: "the scheme broke down", line: null, column: null, length: null, lane: null };
  server.answer = ({ type }) => {
    if (type !== "play") return;
    server.state(1, true);
    queueMicrotask(() => server.onMessage({ type: "problem", problems: [problem] }));
  };
  assert.equal(await model.until(4), false);
  assert.deepEqual([model.playing, heard], [false, ["the scheme broke down"]]);
});

test("running up to a time fails where something else is opened meanwhile", async () => {
  const { model, server } = playing();
  server.answer = ({ type }) => type === "play" && server.state(1, true);
  const done = model.until(4);
  await Promise.resolve();
  server.onMessage(opened());
  server.state(0, true); // the other one plays
  assert.equal(await done, false);
});

test("running up to a time fails where it is paused before", async () => {
  const { model, server } = playing();
  server.answer = ({ type }) => type === "play" && server.state(1, true);
  const done = model.until(4);
  await Promise.resolve();
  server.state(2, false);
  assert.equal(await done, false);
});

test("a change of all schemes is one, that of some has their numbers", () => {
  const [rate, w] = [{ at: 2, path: "links.uplink.rate", value: "6 Mbit/s" }, { at: 1, path: "links.uplink.aqm.w", value: "340 Hz" }];
  const { model } = playing(opened({ lanes: [lane("pi", [w, rate]), lane("codel", [rate])] }));
  assert.deepEqual(model.changes(), [{ ...w, lane: 0 }, { ...rate, lane: null }]);
});

test("the flows of a group are those of the scenario until they are changed under all schemes", () => {
  const change = { at: 1, path: "flows.bulk.count", value: "5" };
  const of = (...changes: (typeof change)[][]) => playing(opened({ lanes: changes.map((each) => lane("pi", each)) })).model;
  assert.equal(of([], []).count("bulk"), 10);
  assert.equal(of([change], []).count("bulk"), 10);
  assert.equal(of([change, { ...change, at: 2, value: "7" }], [change, { ...change, at: 2, value: "7" }]).count("bulk"), 7);
  assert.equal(of([]).count("nobody"), 0);
});

test("a change that adds columns keeps the values of those that were there", () => {
  const { model, server } = playing();
  server.onFrame(frame([[0.05, 3, 4]]));
  const columns = [TIME, column("queue", "link", 1), column("p", "scheme"), column("queue")];
  server.onMessage({ type: "changed", now: 0.05, epoch: 2, columns, lanes: opened().lanes });
  server.onFrame(frame([[0.1, 6, 0.5, 5]], { epoch: 2 }));
  const values = (i: number) => shown(model.rows.column(model.place(columns[i]!)!), 2);
  assert.deepEqual([values(3), values(1), values(2)], [[3, 5], [4, 6], [NaN, 0.5]]);
});

test("after a rewind the earlier way stays behind the new one, from the mark on", async () => {
  const { model, server } = playing();
  server.onFrame(frame([[1, 10, 0], [2, 20, 0], [3, 30, 0]]));
  server.answer = ({ type }) => type === "rewind" && server.onMessage(opened({ now: 2, epoch: 2 }));
  await model.rewind(0);
  assert.deepEqual(shown(model.rows.column(1), model.rows.length), [10, 20]);
  const { rows, from, columns } = model.earlier!;
  assert.deepEqual([from, shown(rows.column(columns.get("0|link|uplink||queue")!), rows.length)], [1, [10, 20, 30]]);
  server.onMessage(opened());
  assert.equal(model.earlier, null);
});

test("those who listen hear their topics", () => {
  const { model, server } = playing();
  const heard: string[] = [];
  for (const topic of ["opened", "state", "frame", "measured", "marks", "changed"] as const) model.on([topic], () => heard.push(topic));
  server.onMessage({ type: "marks", marks: [{ mark: 0, name: "start", at: 0 }] });
  server.onMessage({ type: "table", now: 1, lanes: [{ "total.goodput": 1e6 }] });
  server.state(1, true);
  server.onFrame(frame([[1, 0, 0]]));
  model.end();
  assert.deepEqual(heard, ["marks", "measured", "state", "frame", "state"]);
  assert.deepEqual([model.marks.length, model.measures[0], model.lost, model.playing], [1, { "total.goodput": 1e6 }, true, false]);
});
