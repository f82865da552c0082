import assert from "node:assert/strict";
import { test } from "node:test";
import type { Answer, Engine } from "../../crates/wasm/engine.mjs";
import type { Said } from "../src/page";
import { csv, exported } from "../src/worker/exports";
import type { Lanes } from "../src/worker/lanes";
import { columnsOf } from "../src/worker/layout";
import { gathered, measures } from "../src/worker/player";
import { check, Session, stem } from "../src/worker/session";
import { CASES, Draw, random } from "./any";

const DESCRIBED = {
  name: "t", title: "T", duration: 4, warmup: 1, sample: 1,
  resolved: {
    links: [{ name: "up", rate: "1 Mbit/s", delay: "1 ms", buffer: "10 packets", target: "5 packets", ecn: false, aqm: "pi", fixed: false }],
    flows: [{ name: "bulk", path: [0], rtt: "10 ms", tcp: { congestion_control: "cubic:beta=0.7" }, groups: [{ start: "0 s", stop: null }] }],
  },
  links: [{ name: "up", rate: 1e6, delay: 1e-3, packets: 10, target_packets: 5 }],
  groups: [{ name: "bulk", kind: "ftp", count: 3, rtt: 0.01, ecn: false, rate: null }],
};

/** An engine whose queue is the time, and which refuses what is "wrong". */
class Fake implements Engine {
  asked: string[] = [];
  readonly open = new Map<number, { now: number; made: string[] }>();
  private last = 0;
  private rows: number[] = [];

  ask({ ask, ...of }: { ask: string; [field: string]: any }): Answer {
    this.asked.push(ask);
    const it = this.open.get(of.id)!;
    if ([of.scenario, of.aqm, of.value].includes("wrong")) {
      return { problems: [{ path: "here", reason: "is wrong", kind: "value", line: 2, column: 1, length: 5 }] };
    }
    if (ask === "open") return this.add({ now: 0, made: [] });
    if (ask === "fork") return this.add({ now: it.now, made: [...it.made] });
    if (ask === "sample") {
      this.rows = [];
      for (const next = () => Math.floor(it.now / of.every + 1e-9) * of.every + of.every; next() <= of.until + 1e-9; ) this.rows.push((it.now = next()), it.now);
      it.now = Math.min(of.until, 4);
      return { now: it.now, start: 0, numbers: this.rows.length, width: 2 };
    }
    if (ask === "set") it.made.push(of.value);
    if (ask === "close") this.open.delete(of.id);
    const column = (of: string, place: string, name: string) => ({ of, place, index: null, name, unit: "" });
    return {
      describe: { ...DESCRIBED }, columns: { columns: [column("time", "", "time"), column("link", "up", "queue")] },
      content: { links: [[2]] }, count: { count: 3 }, set: {}, used: { aqm: of.aqm ?? "pi" }, parameters: { parameters: { w: "1 Hz" } },
      title: { title: of.scheme?.toUpperCase(), standing: of.scheme === "an-aqm" ? "fitted" : "published" },
      so_far: { result: it && it.now > 1 ? { links: { up: { queue_mean: it.now } }, flows: {}, total: {} } : null },
      toml: { text: `text, ${it?.made}` }, close: {},
    }[ask]!;
  }

  numbers(): Float32Array<ArrayBuffer> {
    return Float32Array.from(this.rows);
  }

  run = (): Answer => ({});

  private add(simulation: { now: number; made: string[] }): Answer {
    this.open.set(++this.last, simulation);
    return { id: this.last };
  }
}

function session(): { engine: Fake; said: any[]; say: (message: { type: string; [field: string]: unknown }) => Promise<any> } {
  const engine = new Fake();
  const said: any[] = [];
  const made = new Session(engine, (each: Said) => said.push("message" in each ? each.message : each), async (name) => name, setTimeout);
  let id = 0;
  const say = async (message: { type: string }) => {
    id++;
    await made.take({ ...message, id });
    return said.find((each) => each.id === id);
  };
  return { engine, said, say };
}

const open = { type: "open", scenario: "home/x", aqms: ["pi", "an-aqm:a=1"], blast: "up" };

test("a run is opened with what the page draws", async () => {
  const opened = await session().say(open);
  assert.deepEqual(opened.lanes.map(({ label }: { label: string }) => label), ["PI", "AN-AQM† (a=1)"]);
  assert.deepEqual(opened.columns.map(({ lane, name }: { lane: number; name: string }) => [lane, name]), [[null, "time"], [0, "queue"], [1, "queue"]]);
  assert.deepEqual([opened.links[0].rate_text, opened.groups[0].law, opened.groups[0].path], ["1 Mbit/s", "cubic", ["up"]]);
  assert.match(opened.text, /\[\[flows\]\]\nname = "blast"[^]*path = \["up"\]\nrate = "100000 bit\/s"\nrtt = "2000000001 ps"/);
});

test("it plays to a time, and the frames before its state have all rows", async () => {
  const { said, say } = session();
  await say(open);
  await say({ type: "speed", speed: null });
  await say({ type: "play", until: 3 });
  while (!said.some((each) => each.type === "state" && each.now === 3)) await new Promise((resolve) => setTimeout(resolve));
  const frames = said.map(({ frame }) => frame).filter((frame) => frame?.rows);
  assert.deepEqual(frames.flatMap(({ rows, values }) => [...values.subarray(0, rows)]), [1, 2, 3]);
  assert.deepEqual(said.findLast(({ type }) => type === "table").lanes[0], { "links.up.queue_mean": 3 });
});

test("a change that one scheme refuses changes none", async () => {
  const { engine, say } = session();
  await say(open);
  const changed = await say({ type: "set", path: "links.up.aqm", value: "red" });
  assert.deepEqual(changed.lanes.map(({ label }: { label: string }) => label), ["PI, now RED", "AN-AQM† (a=1), now RED"]);
  const refused = await say({ type: "set", path: "links.up.aqm", value: "wrong" });
  assert.deepEqual([refused.type, refused.problems[0].message, refused.problems[0].lane, engine.open.size], ["problem", "is wrong", 0, 2]);
});

test("a change in a lane that is not there is refused", async () => {
  const { say } = session();
  await say(open);
  for (const lane of [2, -1, 0.5]) {
    assert.match((await say({ type: "set", path: "links.up.rate", value: "2 Mbit/s", lane })).problems[0].message, /expected one of 0 to 1, or null/);
  }
});

test("any run and change of a link is made or refused, and no simulation is left", async () => {
  const draw = new Draw(random(3));
  const numbers = [0, 1, 2, -1, 0.5, 1e308, 99];
  const flows = [undefined, [], [["bulk", 0]], [["nowhere", 1e9]]];
  for (let i = 0; i < CASES; i++) {
    const { engine, say } = session();
    const text = draw.of([undefined, "a scenario", "wrong", ""]);
    const aqms = Array.from({ length: draw.below(10) }, () => draw.of([null, "pi", "wrong", "", "a@up+b@x", ":=,"]));
    const [seed, sample] = [draw.of(numbers), draw.of([undefined, ...numbers])];
    const opened = await say({ type: "open", text, aqms, seed, sample, flows: draw.of(flows), blast: draw.of([null, "up", "x"]) });
    const path = draw.of(["links.up.aqm", "links.up.aqm.w", "flows.bulk.count", "__proto__", ""]);
    const changed = await say({ type: "set", path, value: draw.of(["wrong", "9", "red:min=x"]), lane: draw.of([null, ...numbers]) });
    assert.deepEqual([["opened", "problem"].includes(opened.type), ["changed", "problem"].includes(changed.type)], [true, true]);
    assert.equal(engine.open.size, opened.type === "opened" ? aqms.length : 0);
  }
});

test("a mark is a copy to go back to, and what is left is closed", async () => {
  const { engine, say } = session();
  await say(open);
  const { marks } = await say({ type: "mark", name: "here" });
  await say({ type: "set", path: "links.up.rate", value: "2 Mbit/s" });
  const back = await say({ type: "rewind", mark: marks[0].mark });
  assert.deepEqual([back.type, back.lanes[0].changes, engine.open.size], ["opened", [], 4]);
  await say(open);
  assert.equal(engine.open.size, 2);
});

test("what cannot be opened is refused, and nothing stays", async () => {
  const { engine, say } = session();
  assert.equal((await say({ ...open, aqms: ["pi", "wrong"] })).problems[0].lane, 1);
  assert.match((await say({ ...open, seed: 1.5 })).problems[0].message, /whole number/);
  assert.match((await say({ type: "play" })).problems[0].message, /nothing is open/);
  assert.equal(engine.open.size, 0);
});

test("a text is checked, and each scheme in it", () => {
  assert.deepEqual(check(new Fake(), { name: "t", text: "wrong", aqms: [] }).problems.map(({ line, lane }) => [line, lane]), [[2, null]]);
  const found = check(new Fake(), { name: "t", text: "", aqms: ["pi", "wrong"] });
  assert.deepEqual([found.problems.map(({ lane }) => lane), found.opened?.links.length], [[1], 1]);
});

test("rows of two schemes are columns that share the time", () => {
  const part = { count: 2, lanes: [Float32Array.of(1, 10, 2, 20), Float32Array.of(1, 11, 2, 21)], widths: [2, 2] };
  const { values, rows, columns } = gathered([part, { ...part, count: 1, lanes: part.lanes.map((lane) => lane.map((value) => 2 * value)) }]);
  assert.deepEqual([rows, columns, ...values], [3, 3, 1, 2, 2, 10, 20, 20, 11, 21, 22]);
});

test("measures have their full names, lists aside", () => {
  assert.deepEqual(measures({ links: { up: { a: 1, b: [1] } }, flows: {}, total: { c: null } }), { "links.up.a": 1, "total.c": null });
});

test("links stand right of those before them", () => assert.deepEqual(columnsOf([[0, 2], [2, 1]], 3), [0, 2, 1]));

test("files are named after the scenario, and cut at the present", () => {
  assert.deepEqual([stem("home/a call!"), stem("../")], ["home-a-call", "mine"]);
  assert.equal(csv({ up: { time: [0, 1, 2], queue: [1 / 3, null, 5] } }, 1), "time,up.queue\n0,0.333333333\n1,nan\n");
  const lanes = { count: 1, setting: { file: "it's", seed: 2, aqms: ["pi"] }, toml: () => "" } as unknown as Lanes;
  assert.equal(exported(lanes, "command", 0).text, `aqmlab run 'it'"'"'s.toml' --aqm pi --seed 2 --json\n`);
});
