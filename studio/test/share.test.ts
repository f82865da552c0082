import assert from "node:assert/strict";
import { test } from "node:test";
import { deflateRawSync } from "node:zlib";
import { address, fragmentOf, repeat, shared } from "../src/share";
import { lane, opened, playing } from "./server";

const SIGHT = { quantities: ["queue", "p"], link: "uplink", together: true, window: 10 };
const CHANGE = { at: 2, path: "links.uplink.rate", value: "6 Mbit/s" };

Object.assign(globalThis, { location: { origin: "http://127.0.0.1:8000", pathname: "/" } });

const packed = (text: string): string => `#s=${deflateRawSync(text).toString("base64url")}`;

test("an address holds what is open, what was changed and what is in sight", async () => {
  const { model } = playing();
  await model.open({ scenario: "home/call", aqms: ["pi", "codel"], seed: 3 });
  model.session.onMessage({ type: "changed", now: 2, epoch: 1, columns: [], lanes: [lane("pi", [CHANGE]), lane("codel", [CHANGE])] });
  const link = await address(model, SIGHT);
  assert.match(link, /^http:\/\/127\.0\.0\.1:8000\/#s=[\w-]+$/);
  assert.deepEqual(await shared(new URL(link).hash), {
    ...SIGHT, opening: model.opening, changes: [{ ...CHANGE, lane: null }], now: 0,
  });
});

test("a fragment of another kind holds nothing", async () => assert.equal(await shared("#lesson=01-bufferbloat"), null));

for (const [what, fragment] of [
  ["a link that is cut off", packed(JSON.stringify({ opening: { aqms: [] }, changes: [], quantities: [] })).slice(0, -9)],
  ["what is not packed", "#s=hello"],
  ["what is not in base64", "#s=%%%"],
  ["a state without schemes", packed(JSON.stringify({ opening: {}, changes: [], quantities: [] }))],
  ["a state of another kind", packed("[1, 2]")],
] as const) {
  test(`${what} is refused`, async () => {
    await assert.rejects(shared(fragment), /This link cannot be read: it is cut off, or not a link of the studio/);
  });
}

test("a small link that unpacks to more than the server takes is refused", async () => {
  await assert.rejects(shared(packed(" ".repeat(50 << 20))), /it holds more than 1 MiB/);
});

test("the state is found in a link that leads elsewhere", () => {
  assert.equal(fragmentOf("http://example.org:1/#s=abc \n"), "#s=abc");
  assert.throws(() => fragmentOf("http://example.org/"), /with #s= in it/);
});

test("what was done by hand is done again at its times, as fast as it goes, and stops where it was", async () => {
  const { model, server } = playing();
  const opening = { scenario: "home/call", aqms: ["pi", "codel"] };
  await repeat(model, { ...SIGHT, opening, changes: [{ ...CHANGE, lane: null }], now: 5 });
  assert.deepEqual(server.asked, [
    { type: "open", ...opening },
    { type: "speed", speed: 1 },
    { type: "speed", speed: null },
    { type: "play", until: 2 },
    { type: "set", path: CHANGE.path, value: CHANGE.value, lane: null },
    { type: "play", until: 5 },
    { type: "speed", speed: 1 },
  ]);
  assert.deepEqual([model.now, model.run?.name], [5, opened().name]);
});
