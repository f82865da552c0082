import assert from "node:assert/strict";
import { test } from "node:test";
import { deflateRawSync } from "node:zlib";
import { address, fragmentOf, repeat, shared } from "../src/share";
import { Draw, LINKS, random } from "./any";
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

/** What a page asks for when it opens a link, and the fields that each question may have. */
const ASKED: Record<string, string[]> = {
  open: ["scenario", "text", "name", "aqms", "seed", "sample", "flows", "blast"],
  speed: ["speed"], play: ["until"], set: ["path", "value", "lane"],
};
const STATE = {
  ...SIGHT, now: 5,
  opening: { scenario: "home/call", aqms: ["pi", null], seed: 3, sample: 0.1, flows: [["bulk", 0]], blast: "uplink" },
  changes: [{ ...CHANGE, lane: null }, { at: 3, path: "flows.bulk.count", value: "4", lane: 1 }],
};

test("no field of a link is part of a question that is none of the studio's", async () => {
  const { model, server } = playing();
  const opening = { ...STATE.opening, type: "unmark", id: 7, mark: 1 };
  await repeat(model, (await shared(packed(JSON.stringify({ ...STATE, opening }))))!);
  assert.deepEqual(server.asked[0], { ...STATE.opening, type: "open" });
});

test("any state is refused, or asks only for what a page asks for", async () => {
  const draw = new Draw(random(1));
  let read = 0;
  for (let i = 0; i < LINKS; i++) {
    const state = Array.from({ length: 1 + draw.below(3) }).reduce((value) => draw.odd(value), STATE as unknown);
    const found = await shared(packed(JSON.stringify(state))).catch(({ message }: Error) => message);
    if (typeof found === "string") {
      assert.match(found, /^This link cannot be read/);
      continue;
    }
    const { model, server } = playing();
    await repeat(model, found!);
    read++;
    for (const { type, ...fields } of server.asked) {
      assert.ok(Object.keys(fields).every((name) => ASKED[type]?.includes(name)), `${type} with ${JSON.stringify(fields)} of ${JSON.stringify(state)}`);
    }
    const numbers = [found!.now, ...found!.changes.map(({ at }) => at)];
    assert.ok(numbers.every(Number.isFinite) && found!.changes.every(({ path, value }) => typeof path === "string" && typeof value === "string"));
  }
  assert.ok(read > LINKS / 20 && read < LINKS, `${read} of ${LINKS}`);
});

test("any fragment is refused or holds a state", async () => {
  const draw = new Draw(random(2));
  const whole = packed(JSON.stringify(STATE));
  for (let i = 0; i < LINKS; i++) {
    const fragment = draw.below(2) ? `#s=${draw.broken(whole.slice(3))}` : packed(draw.broken(JSON.stringify(STATE)));
    const found = await shared(fragment).catch(({ message }: Error) => message);
    assert.ok(typeof found === "string" ? found.startsWith("This link cannot be read") : Array.isArray(found!.changes), fragment);
  }
});

test("where a change of a link is refused the speed is what it was", async () => {
  const { model, server } = playing();
  const { answer } = server;
  server.answer = (asked) => {
    if (asked.type === "set") throw new Error("refused");
    answer(asked);
  };
  await assert.rejects(repeat(model, { ...SIGHT, opening: STATE.opening as never, changes: [{ ...CHANGE, lane: null }], now: 5 }), /refused/);
  assert.deepEqual([model.speed, server.asked.at(-1)], [1, { type: "speed", speed: 1 }]);
});
