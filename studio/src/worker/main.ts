// The worker of the page: it has the engine.

import { load } from "../../../crates/wasm/engine.mjs";
import type { Said } from "../page";
import { refused } from "./lanes";
import { check, Session } from "./session";

type Heard = { message: { type: string } } | { check: number; body: Parameters<typeof check>[1] };

const engine = fetch("aqmlab_engine.wasm").then(async (answer) => load(await answer.arrayBuffer()));
const say = (said: Said, move: Transferable[] = []): void => postMessage(said, { transfer: move });
const session = engine.then((ready) => new Session(ready, say, known, soon));
/** Messages are answered one after the other. */
let before: Promise<unknown> = session;

onmessage = ({ data }: MessageEvent<Heard>) => {
  before = before.then(async () => {
    if ("check" in data) say({ checked: check(await engine, data.body), check: data.check });
    else await (await session).take(data.message);
  }).catch((error: Error) => setTimeout(() => {
    throw error; // the page hears of it as an error of the worker
  }));
};

/** A message to itself: a timer would wait for 4 ms. */
const { port1, port2 } = new MessageChannel();
const acts: (() => void)[] = [];
port1.onmessage = () => acts.shift()?.();

function soon(act: () => void): void {
  acts.push(act);
  port2.postMessage(null);
}

async function known(name: string): Promise<string> {
  const answer = await fetch(`data/scenario/${name}.json`);
  if (!answer.ok) throw refused("scenario", `${name}: no scenario of this name`);
  return ((await answer.json()) as { text: string }).text;
}
