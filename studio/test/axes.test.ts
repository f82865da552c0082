import assert from "node:assert/strict";
import { test } from "node:test";
import { Extents, spread, timeAxis, widen } from "../src/axes";
import { wordsOf } from "../src/curves";
import type { Axes } from "../src/panel";
import { Rows } from "../src/rows";
import { frame } from "./server";

const RUN = { end: 600, sample: 0.5 };
const axes = (): Axes => ({ x: [0, 1], y: [0, 1], settled: false });

test("time goes up to a round number after the present, at least ten samples and a hundredth of the run", () => {
  assert.deepEqual([0, 5.8, 12, 410].map((now) => timeAxis(RUN, now, null)[1]), [6, 6, 15, 500]);
});

test("time ends with the run", () => assert.deepEqual(timeAxis({ ...RUN, end: 55 }, 52, null), [0, 55]));

test("a window is as wide from the start on, and ends at the present", () => {
  assert.deepEqual([timeAxis(RUN, 3, 10), timeAxis(RUN, 25, 10)], [[0, 10], [15, 25]]);
});

test("an axis fits the first values, then only grows", () => {
  const one = axes();
  assert.deepEqual([widen(one, 0, 14), one.y], [true, [0, 15]]);
  assert.deepEqual([widen(one, 0, 10), one.y], [false, [0, 15]]);
  assert.deepEqual([widen(one, -7, 21), one.y], [true, [-8, 25]]);
  assert.deepEqual([widen(one, -1, 21), one.y], [false, [-8, 25]]);
});

test("an axis waits for a value that is not 0", () => {
  const one = axes();
  assert.deepEqual([widen(one, 0, 0), one.y, one.settled], [false, [0, 1], false]);
});

test("extremes are those of all curves, in the unit shown", () => {
  const rows = new Rows(3);
  rows.append(frame([[0, 0.02, -0.001], [1, 0.03, NaN]]));
  const parts = [{ key: "a", column: 1 }, { key: "b", column: 2 }];
  const { low, high } = new Extents().of(rows, parts, 1000);
  assert.ok(Math.abs(low + 1) < 1e-6 && Math.abs(high - 30) < 1e-5);
});

test("extremes grow with new rows, and are those of the rows left after a rewind", () => {
  const [rows, extents, parts] = [new Rows(2), new Extents(), [{ key: "a", column: 1 }]];
  rows.append(frame([[0, 4], [1, 9]]));
  assert.equal(extents.of(rows, parts, 1).high, 9);
  rows.append(frame([[2, 11]]));
  assert.equal(extents.of(rows, parts, 1).high, 11);
  rows.cut(0);
  assert.equal(extents.of(rows, parts, 1).high, 4);
});

test("rows of a table are evenly spread up to the last, all of them where they are few", () => {
  assert.deepEqual([spread(4, 100), spread(20, 3), spread(20, 0)], [[24, 49, 74, 99], [0, 1, 2], []]);
});

test("changes of one instant share their words, each once, in order of time", () => {
  const found = wordsOf([
    { at: 5, path: "flows.bulk.count", value: "20" },
    { at: 2, path: "links.uplink.rate", value: "6 Mbit/s" },
    { at: 2, path: "links.uplink.rate", value: "6 Mbit/s" },
    { at: 2, path: "links.uplink.aqm.w", value: "340 Hz" },
  ]);
  assert.deepEqual(found, [{ at: 2, words: "rate 6 Mbit/s, aqm.w 340 Hz" }, { at: 5, words: "bulk.count 20" }]);
});
