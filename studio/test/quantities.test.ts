import assert from "node:assert/strict";
import { test } from "node:test";
import type { Opened, Scheme } from "../src/protocol";
import { BLAST, blasted, quantities, targetOf, type Quantity } from "../src/quantities";
import { column, lane, opened, TIME } from "./server";

const scheme = (name: string, other: Partial<Scheme> = {}): Scheme => ({
  name, title: name, family: "", year: 2000, summary: "", parameters: [], observables: [], own: false, ...other,
});
const SCHEMES = [
  scheme("pi", { observables: [{ name: "p", unit: "1", doc: "" }, { name: "rate", unit: "1", doc: "What p grows by." }] }),
  scheme("codel", { observables: [{ name: "interval", unit: "s", doc: "" }], target: null }),
];
const COLUMNS = [
  TIME, column("queue"), column("drops"), column("marks"), column("p", "scheme"), column("rate", "scheme"), column("queue", "link", 1),
  column("interval", "link", 1), column("goodput", "group", 0, "bulk"), column("goodput", "group", 0, BLAST), column("cwnd", "flow", 0, "bulk"),
];

const found = (other: Partial<Opened> = {}, link = "uplink"): Map<string, Quantity> =>
  new Map(quantities(opened({ columns: COLUMNS, ...other }), link, SCHEMES).map((quantity) => [quantity.id, quantity]));
const parts = (quantity: Quantity | undefined, of: number) => quantity!.parts(of).map(({ name, column: at }) => [name, at]);

test("a curve of a link is that of its scheme", () => {
  const queue = found().get("queue");
  assert.deepEqual([parts(queue, 0), parts(queue, 1)], [[["queue", 1]], [["queue", 6]]]);
});

test("curves are of the link in sight", () => assert.deepEqual(parts(found({}, "downlink").get("queue"), 0), []));

test("drops and marks share a panel, under words of their own", () => {
  assert.deepEqual(parts(found().get("signals"), 0), [["dropped", 2], ["marked", 3]]);
});

test("a scheme without a probability has no curve of it", () => {
  const p = found().get("p");
  assert.deepEqual([parts(p, 0), parts(p, 1)], [[["p", 4]], []]);
});

test("the state of a scheme is a quantity of its own, though a link's curve has its name", () => {
  const state = found().get("scheme rate");
  assert.deepEqual([state?.title, state?.doc, parts(state, 0), parts(state, 1)], ["State: rate", "What p grows by.", [["rate", 5]], []]);
  assert.equal(found().get("rate"), undefined);
});

test("a state in seconds is shown in milliseconds", () => {
  const columns = COLUMNS.map((each) => (each.name === "interval" ? { ...each, unit: "s" } : each));
  const { unit, scale } = found({ columns }).get("interval")!;
  assert.deepEqual([unit, scale], ["ms", 1000]);
});

test("datagrams sent by hand have a curve once there are any", () => {
  const blast = [{ at: 1, path: "flows.blast.count", value: "3" }];
  assert.deepEqual(parts(found().get("goodput"), 0), [["bulk", 8]]);
  assert.deepEqual(parts(found({ lanes: [lane("pi", blast)] }).get("goodput"), 0), [["bulk", 8], [BLAST, 9]]);
  assert.equal(blasted(opened({ lanes: [lane("pi", blast)] })), true);
});

test("flows are counted from 1", () => assert.deepEqual(parts(found().get("cwnd"), 0), [["bulk 1", 10]]));

test("a target in packets is that of the scenario, then what it was changed to", () => {
  const changes = [{ at: 1, path: "links.uplink.target", value: "30 packets" }, { at: 2, path: "links.uplink.target", value: "20 packets" }];
  const of = (run: Opened) => targetOf(run, 0, "uplink", SCHEMES);
  assert.deepEqual([of(opened()), of(opened({ lanes: [lane("pi", changes)] }))], [50, 20]);
});

test("a scheme that steers to no length has no target in packets", () => assert.equal(targetOf(opened(), 1, "uplink", SCHEMES), null));

test("a target of a delay is shown in milliseconds", () => {
  const at = (target: string) => found({ lanes: [lane("codel", [], { target })] }).get("delay")!.target(0);
  assert.deepEqual(["5 ms", "0.02 s", "500us", "20 packets"].map(at), [5, 20, 0.5, null]);
});
