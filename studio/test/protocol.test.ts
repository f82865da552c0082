import assert from "node:assert/strict";
import { test } from "node:test";
import { keyOf, readFrame, readSpec, writeSpec } from "../src/protocol";
import { column } from "./server";

/** Python: struct.pack("<4s5I2d", b"AQM1", 7, 41, 2, 3, 2, 1.25, 9.5), three columns of two rows, two numbers of content. */
const BYTES =
  "41514d31" + "07000000" + "29000000" + "02000000" + "03000000" + "02000000" + "000000000000f43f" + "0000000000002340" +
  "0000003f" + "0000803f" + "00004041" + "000040c0" + "0000c07f" + "0000803e" + "00008040" + "0000c040";

test("a frame has its head, its columns one after the other, and what waits in the queues", () => {
  const { values, content, ...head } = readFrame(Uint8Array.from(Buffer.from(BYTES, "hex")).buffer);
  assert.deepEqual(head, { epoch: 7, sequence: 41, rows: 2, columns: 3, now: 1.25, speed: 9.5 });
  assert.deepEqual([...values], [0.5, 1, 12, -3, NaN, 0.25]);
  assert.deepEqual([...content], [4, 6]);
});

test("the numbers of a frame are views into the message", () => {
  const bytes = Uint8Array.from(Buffer.from(BYTES, "hex"));
  assert.equal(readFrame(bytes.buffer).values.buffer, bytes.buffer);
});

test("columns differ by scheme, kind, place, number and name", () => {
  const one = column("queue");
  const others = [{ lane: 1 }, { of: "scheme" as const }, { place: "downlink" }, { index: 0 }, { name: "delay" }];
  const keys = [one, ...others.map((other) => ({ ...one, ...other }))].map(keyOf);
  assert.equal(new Set(keys).size, 6);
  assert.equal(keyOf({ ...one, unit: "packets" }), keyOf(one));
});

for (const [text, name, set] of [
  ["pi", "pi", {}],
  ["pi:w=340 Hz", "pi", { w: "340 Hz" }],
  ["pi: w = 340 Hz , target=20 packets", "pi", { w: "340 Hz", target: "20 packets" }],
  ["pi:", "pi", {}],
] as const) {
  test(`the scheme "${text}" is ${name} with ${JSON.stringify(set)}`, () => assert.deepEqual(readSpec(text), { name, set }));
}

test("a scheme is written as it is read", () => {
  for (const spec of ["pi", "pi:w=340 Hz", "red:min_th=5 packets,max_th=15 packets"]) {
    const { name, set } = readSpec(spec);
    assert.equal(writeSpec(name, set), spec);
  }
});
