// The worker of the page: it has the engine.

import { load } from "../../../crates/wasm/engine.mjs";
import type { Said } from "../page";
import { ask, refused, Refused } from "./lanes";
import { check, Session } from "./session";

type Heard = { message: { type: string } } | { asked: number; route: string; body: object };

const engine = fetch("aqmlab_engine.wasm").then(async (answer) => load(await answer.arrayBuffer()));
const say = (said: Said, move: Transferable[] = []): void => postMessage(said, { transfer: move });
const session = engine.then((ready) => new Session(ready, say, known, soon));
/** Messages are answered one after the other. */
let before: Promise<unknown> = session;

onmessage = ({ data }: MessageEvent<Heard>) => {
  before = before.then(async () => {
    if ("asked" in data) say({ answer: await answered(data.route, data.body), to: data.asked });
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

const known = async (name: string): Promise<string> => (await file<{ text: string }>("scenario", name)).text;

async function file<T>(kind: string, name: string): Promise<T> {
  const path = name.split("/").map(encodeURIComponent).join("/");
  const answer = await fetch(`data/${kind}/${path}.json`);
  if (!answer.ok) throw refused(kind, `${name}: no ${kind} of this name`);
  return (await answer.json()) as T;
}

/** The answer of a route that wants a body. */
async function answered(route: string, body: object): Promise<object> {
  const ready = await engine;
  if (route === "check") return check(ready, body as Parameters<typeof check>[1]);
  try {
    const [, lesson] = route.split("/");
    return ask(ready, { ...(await file<{ sheet: string; scenario: string }>("exercise", lesson!)), ...body, ask: "exercise" });
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return { error: error.problems.map(({ field, message }) => (field ? `${field}: ${message}` : message)).join("\n") };
  }
}
