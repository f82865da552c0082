import assert from "node:assert/strict";
import { test } from "node:test";
import { follow, needsStart } from "../src/lessons";
import { lane, opened, playing } from "./server";

const STEP = { at: 2, path: "links.uplink.rate", value: "6 Mbit/s" };
const TRY = { title: "", html: "", open: { type: "open" as const, aqms: ["pi", "codel"] }, steps: [STEP], until: 5 };

async function started() {
  const { model, server } = playing();
  await model.open({ aqms: ["pi", "codel"] });
  server.asked.length = 0;
  return { model, server };
}

test("a try goes on from a run with its schemes before its first step", async () => {
  const { model, server } = await started();
  server.state(1.9, false);
  assert.equal(needsStart(model, TRY), false);
});

test("a try starts where the run is too late, has other schemes or was changed by hand", async () => {
  const { model, server } = await started();
  assert.equal(needsStart(model, { ...TRY, open: { ...TRY.open, aqms: ["pi"] } }), true);
  assert.equal(needsStart(model, { ...TRY, steps: [] }), true);
  server.state(2.1, false);
  assert.equal(needsStart(model, TRY), true);
  server.onMessage(opened({ lanes: [lane("pi", [STEP]), lane("codel", [STEP])] }));
  assert.equal(needsStart(model, TRY), true);
});

test("a try does its steps at their times, tells them, and runs to its end", async () => {
  const { model, server } = await started();
  const told: string[] = [];
  const steps = [STEP, { at: 3, path: "links.uplink.aqm.w", value: "340 Hz", lane: 0 }];
  assert.equal(await follow(model, { ...TRY, steps }, (text) => told.push(text), () => true), true);
  assert.deepEqual(server.asked, [
    { type: "play", until: 2 },
    { type: "set", path: STEP.path, value: STEP.value, lane: null },
    { type: "play", until: 3 },
    { type: "set", path: "links.uplink.aqm.w", value: "340 Hz", lane: 0 },
    { type: "play", until: 5 },
  ]);
  assert.deepEqual(told, [
    "Running until 2 s, then links.uplink.rate becomes 6 Mbit/s.",
    "Running until 3 s, then links.uplink.aqm.w becomes 340 Hz under pi.",
    "Running until 5 s.",
  ]);
});

test("a try that was stopped changes nothing more", async () => {
  const { model, server } = await started();
  assert.equal(await follow(model, TRY, () => {}, () => false), false);
  assert.deepEqual(server.asked.map(({ type }) => type), ["play"]);
});

test("a try ends where the run is paused", async () => {
  const { model, server } = await started();
  server.answer = ({ type }) => {
    if (type !== "play") return;
    server.state(1, true);
    queueMicrotask(() => server.state(1.5, false));
  };
  assert.equal(await follow(model, TRY, () => {}, () => true), false);
  assert.deepEqual(server.asked.map(({ type }) => type), ["play"]);
});
