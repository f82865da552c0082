import assert from "node:assert/strict";
import { test } from "node:test";
import { write } from "../src/measures";
import type { Measure } from "../src/protocol";

const measure = (scale: number, digits: number, exponent = false): Measure => ({
  name: "", of: "link", title: "", unit: "", definition: "", better: null, shown: { scale, unit: "", digits, exponent },
});

test("a measure is written in the unit and with the digits of the tables", () => {
  assert.deepEqual([write(0.0123, measure(1000, 1)), write(301.46, measure(1, 1)), write(1.2e-5, measure(1, 2, true))], ["12.3", "301.5", "1.20e-5"]);
});

test("a measure that is not there is not zero", () => {
  assert.deepEqual([null, undefined, NaN, 0].map((value) => write(value, measure(1, 1))), ["–", "–", "–", "0.0"]);
});
