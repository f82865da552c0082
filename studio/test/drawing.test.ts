import assert from "node:assert/strict";
import { test } from "node:test";
import { inSight, tanks } from "../src/drawing";
import { opened } from "./server";

const [LINK] = opened().links;
const [GROUP] = opened().groups;
const links = [
  { ...LINK!, name: "second", x: 1 },
  { ...LINK!, name: "first", x: 0 },
  { ...LINK!, name: "beside", x: 1 },
  { ...LINK!, name: "unused", x: 2 },
];
const run = opened({ links, groups: [{ ...GROUP!, path: ["first", "second", "beside"] }] });
const names = (place: string) => inSight(run, place).map(({ name }) => name);

test("links that packets cross are in order; of those beside each other the one chosen", () => {
  assert.deepEqual([names("first"), names("beside"), names("unused")], [["first", "second"], ["first", "beside"], ["first", "second"]]);
});

test("a queue has a block for each packet where there is room, else for so many that all have it", () => {
  const of = (packets: number, width: number) => tanks([{ ...LINK!, packets }], width, 0).map(({ cells, block }) => [cells, block])[0];
  assert.deepEqual([of(20, 2000), of(20.5, 2000), of(200, 2000), of(0.5, 2000)], [[20, 1], [21, 1], [60, 4], [1, 1]]);
  assert.deepEqual(of(200, 0), [4, 50]); // no narrower than four blocks
});

test("queues stand beside each other, those of one place at the same", () => {
  const lefts = tanks([links[1]!, links[0]!, links[2]!], 824, 100).map(({ left }) => left);
  assert.deepEqual(lefts, [110, 460, 460]); // 824 - 100 - 24 = 700, half of it for each place
});
