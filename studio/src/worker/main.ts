// The worker of the page: it has the engine, whose session answers the page.

import { load, type Answer, type Engine } from "../../../crates/wasm/engine.mjs";
import type { Said } from "../page";
import type { Message, Request } from "../protocol";

type Heard = { message: Request & { id?: number } } | { asked: number; route: string; body: object };

const engine = fetch("aqmlab_engine.wasm").then(async (answer) => load(await answer.arrayBuffer()));
/** Requests are answered one after the other. */
let before: Promise<unknown> = engine;

onmessage = ({ data }: MessageEvent<Heard>) => {
  before = before.then(async () => {
    if ("asked" in data) say({ answer: await answered(data.route, data.body), to: data.asked });
    else act(await engine, { ask: "request", text: JSON.stringify(await found(data.message)) });
  }).catch((error: Error) => setTimeout(() => {
    throw error; // the page hears of it as an error of the worker
  }));
};

const say = (said: Said, move: Transferable[] = []): void => postMessage(said, { transfer: move });
const now = (): number => performance.now() / 1000;

/** Let the session act, and again when its next step is due. */
function act(engine: Engine, question: { ask: string; text?: string }): void {
  const { outputs } = engine.ask({ ...question, now: now() }) as { outputs: { message?: Message; start: number; bytes: number }[] };
  const said = outputs.map(({ message, start, bytes }): Said => (message ? { message } : { frame: engine.bytes(start, bytes) }));
  const { due } = engine.ask({ ask: "due", now: now() });
  for (const each of said) say(each, "frame" in each ? [each.frame] : []);
  const turn = ++turns;
  clearTimeout(timer);
  if (due === null) return;
  const step = (): void => {
    if (turn === turns) act(engine, { ask: "step" });
  };
  const wait = 1000 * (due - now());
  if (wait > 0) timer = setTimeout(step, Math.min(wait, LONGEST_WAIT));
  else soon(step);
}

/** ms; a timer takes no more than 24 days. */
const LONGEST_WAIT = 60_000;
let turns = 0;
let timer: ReturnType<typeof setTimeout> | undefined;

/** A message to itself, after those that wait: a timer would wait for 4 ms. */
const { port1, port2 } = new MessageChannel();
const acts: (() => void)[] = [];
port1.onmessage = () => acts.shift()?.();

function soon(act: () => void): void {
  acts.push(act);
  port2.postMessage(null);
}

/** A request with the text of the scenario that it names, if there is one. */
async function found(request: Request): Promise<Request> {
  if (request.type !== "open" || request.text != null || request.scenario == null) return request;
  const text = (await file<{ text: string }>("scenario", request.scenario))?.text;
  return text === undefined ? request : { ...request, text, name: request.scenario };
}

async function file<T>(kind: string, name: string): Promise<T | undefined> {
  const answer = await fetch(`data/${kind}/${name.split("/").map(encodeURIComponent).join("/")}.json`);
  return answer.ok ? ((await answer.json()) as T) : undefined;
}

/** The answer of a route that wants a body. */
async function answered(route: string, body: object): Promise<object> {
  const ready = await engine;
  if (route === "check") return ready.ask({ ask: "check", request: JSON.stringify(body) });
  const lesson = route.split("/")[1]!;
  const answer: Answer = ready.ask({ ...(await file<object>("exercise", lesson)), ...body, ask: "exercise" });
  if (!answer.problems) return answer;
  return { error: answer.problems.map(({ path, reason }) => (path ? `${path}: ${reason}` : reason)).join("\n") };
}
