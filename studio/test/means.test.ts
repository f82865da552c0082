import assert from "node:assert/strict";
import { test } from "node:test";
import { stretchOf } from "../src/means";
import { Rows } from "../src/rows";

function rows(): Rows {
  const found = new Rows(2);
  const values = Float32Array.from([1, 2, 3, 4, 9, 1, NaN, 5]);
  found.append({ epoch: 0, sequence: 0, rows: 4, columns: 2, now: 4, speed: 1, values, content: new Float32Array(0) });
  return found;
}

test("a stretch begins after a time and has its end, and what has no value does not count", () => {
  assert.deepEqual(stretchOf(rows(), 1, 1, 4), { mean: 3, least: 1, most: 5, deviation: 2, zero: 0 });
  assert.equal(stretchOf(rows(), 1, 4, 9), null);
});

test("the share at 0 counts samples", () => {
  const found = rows();
  found.column(1).set([0, 0, 4, 4]);
  assert.deepEqual(stretchOf(found, 1, 0, 4), { mean: 2, least: 0, most: 4, deviation: 2, zero: 0.5 });
});
