import assert from "node:assert/strict";
import { test } from "node:test";
import { roundUp, seconds, short, slide } from "../src/scale";

for (const [value, round] of [[1, 1], [1.01, 1.5], [7, 8], [9.2, 10], [101, 150], [0.034, 0.04], [0, 1], [-3, 1], [NaN, 1], [Infinity, 1]] as const) {
  test(`the least round number for ${value} is ${round}`, () => assert.ok(Math.abs(roundUp(value) - round) < 1e-12 * round));
}

test("a value that is round but for rounding is enough", () => assert.equal(roundUp(2.00001), 2));

for (const [value, text] of [
  [12_345.6, "12,346"], [123.4, "123"], [12.34, "12.3"], [1.234, "1.23"], [0, "0"], [0.01234, "0.0123"], [0.000123, "1.2e-4"],
  [-12.34, "-12.3"], [NaN, "–"], [Infinity, "–"], [null, "–"], [undefined, "–"],
] as const) {
  test(`${value} is written ${text}`, () => assert.equal(short(value), text));
}

test("seconds have a digit below 100", () => assert.deepEqual([12.34, 99.94, 100.4].map(seconds), ["12.3 s", "99.9 s", "100 s"]));

test("the steps of a slider are equal, or multiply", () => {
  const [plain, logarithmic] = [slide(0, 40, 200, false), slide(2, 200, 200, true)];
  assert.deepEqual([0, 100, 200].map(plain.at), [0, 20, 40]);
  const values = [0, 100, 200].map(logarithmic.at);
  for (const [i, value] of [2, 20, 200].entries()) assert.ok(Math.abs(values[i]! - value) < 1e-9);
  assert.deepEqual([10.09, 10.11].map(plain.near), [50, 51]);
  assert.equal(logarithmic.near(20), 100);
});
