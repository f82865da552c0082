import assert from "node:assert/strict";
import { test } from "node:test";
import type { Catalogue } from "../src/protocol";
import { Published } from "../src/published";
import type { Quantity } from "../src/quantities";
import { lane, opened } from "./server";

const CELL = { aqm: "pi", ours: "links.uplink.queue_mean", published: 301.5, scenario: null };
const PAPER = {
  title: "A paper",
  tables: [
    { scenarios: ["li2014/table-1"], cells: [CELL, { ...CELL, ours: "links.uplink.queue_delay_mean", published: 0.054 }] },
    { scenarios: ["li2014/table-2"], cells: [{ ...CELL, published: 7 }, { ...CELL, aqm: "codel", published: 8, scenario: "li2014/table-1" }] },
  ],
};
const CATALOGUE = {
  scenarios: [{ name: "li2014/table-1", title: "", study: "li2014" }, { name: "home/call", title: "", study: null }],
  studies: [{ name: "li2014", title: "", source: "" }],
} as unknown as Catalogue;

const quantity = (id: string, scale: number) => ({ id, scale }) as Quantity;

async function following(name: string) {
  const asked: string[] = [];
  Object.assign(globalThis, { fetch: async (path: string) => (asked.push(path), Response.json(PAPER)) });
  const run = opened({ name, lanes: [lane("pi"), lane("codel"), { ...lane("pi"), aqm: null }] });
  let came = () => {};
  const coming = new Promise<void>((resolve) => (came = resolve));
  const published = new Published(CATALOGUE, () => came());
  published.follow(run);
  if (asked.length) await coming;
  return { asked, run, published };
}

test("a value of the paper is that of the scenario, the scheme and the measure", async () => {
  const { asked, run, published } = await following("li2014/table-1");
  assert.deepEqual([asked, published.title], [["/api/published/li2014"], "A paper"]);
  assert.equal(published.value(run, 0, "links.uplink.queue_mean"), 301.5);
  assert.equal(published.value(run, 0, "links.uplink.drop_ratio"), null);
});

test("a cell may name a scenario that is not its table's", async () => {
  const { run, published } = await following("li2014/table-1");
  assert.equal(published.value(run, 1, "links.uplink.queue_mean"), 8);
});

test("schemes that the scenario sets have no published value", async () => {
  const { run, published } = await following("li2014/table-1");
  assert.equal(published.value(run, 2, "links.uplink.queue_mean"), null);
});

test("a published mean is a line across its curve, in the curve's unit", async () => {
  const { run, published } = await following("li2014/table-1");
  const level = (id: string, scale: number, of: number | null = 0) => published.levels(run, of, quantity(id, scale), "uplink");
  assert.deepEqual(level("delay", 1000), [{ value: 54, label: "published mean", published: true }]);
  assert.deepEqual([level("queue", 1, null), level("p", 1), level("utilisation", 100)], [[], [], []]);
});

test("a scenario of no paper asks for nothing", async () => {
  const { asked, run, published } = await following("home/call");
  assert.deepEqual([asked, published.title, published.value(run, 0, "links.uplink.queue_mean")], [[], "", null]);
});
