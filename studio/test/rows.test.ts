import assert from "node:assert/strict";
import { test } from "node:test";
import { Rows } from "../src/rows";
import { frame } from "./server";

/** Rows (time, value) of which the i-th is (i, of(i)), in frames of `size` rows. */
function filled(count: number, of: (i: number) => number, size = 1000): Rows {
  const rows = new Rows(2);
  for (let from = 0; from < count; from += size) {
    rows.append(frame(Array.from({ length: Math.min(size, count - from) }, (_, i) => [from + i, of(from + i)])));
  }
  return rows;
}

const shown = (rows: Rows, column: number): number[] => [...rows.column(column).subarray(0, rows.length)];

test("frames are put behind each other", () => {
  const rows = new Rows(2);
  rows.append(frame([[0, 5], [1, 6]]));
  rows.append(frame([[2, 7]]));
  assert.deepEqual([rows.length, shown(rows, 0), shown(rows, 1)], [3, [0, 1, 2], [5, 6, 7]]);
});

test("there is room for more rows than at first", () => {
  const rows = filled(5000, (i) => 2 * i);
  assert.equal(rows.length, 5000);
  assert.deepEqual([rows.column(1)[0], rows.column(1)[4095], rows.column(1)[4999]], [0, 8190, 9998]);
});

test("the first row after a time, which may be that of a row but for rounding", () => {
  const rows = new Rows(1);
  rows.append(frame([[0.1], [0.2], [0.3]]));
  assert.deepEqual([0, 0.1, 0.15, 0.3, 9].map((time) => rows.rowAfter(time)), [0, 1, 1, 3, 3]);
});

test("what comes after a time is forgotten, and rows go on there", () => {
  const rows = filled(10, (i) => i);
  rows.cut(4);
  rows.append(frame([[5, -1]]));
  assert.deepEqual(shown(rows, 1), [0, 1, 2, 3, 4, -1]);
});

test("other columns: an old one keeps its values, a new one has none so far", () => {
  const rows = filled(2, (i) => 7 + i).arranged([0, null, 1]);
  assert.deepEqual([shown(rows, 0), shown(rows, 1), shown(rows, 2)], [[0, 1], [NaN, NaN], [7, 8]]);
});

test("a copy stays when the rows go on", () => {
  const rows = filled(2, (i) => i);
  const copy = rows.copy();
  rows.cut(0);
  rows.append(frame([[1, 9]]));
  assert.deepEqual(shown(copy, 1), [0, 1]);
});

test("many rows are thinned out: memory is bounded, times ascend, the extremes and the ends stay", () => {
  const peaks = new Map([[3, 50], [7777, 90], [9999, -40], [40_000, 70]]);
  const rows = filled(60_000, (i) => peaks.get(i) ?? i % 2);
  assert.ok(rows.length <= 16_384, `${rows.length} rows`);
  const [times, values] = [shown(rows, 0), shown(rows, 1)];
  assert.deepEqual([times[0], times.at(-1)], [0, 59_999]);
  assert.ok(times.every((time, i) => i === 0 || time > times[i - 1]!));
  for (const peak of peaks.values()) assert.ok(values.includes(peak), `${peak} is lost`);
});

test("where rows are thinned out, gaps hide neither the least nor the greatest value", () => {
  const rows = filled(60_000, (i) => [NaN, 3, 9, 5][i % 4]!);
  const old = shown(rows, 1).slice(0, 2000); // of stretches of three or four rows
  assert.deepEqual([old.some(Number.isNaN), old.includes(3), old.includes(9)], [false, true, true]);
});
