// The page without a server: a worker has the engine, files have what a server would have answered.

import type { Backend, Listener } from "./backend";
import { readFrame, type Message } from "./protocol";

/** What a worker says: news of the session, or the answer of a route. */
export type Said = { message: Message & { id?: number } } | { frame: ArrayBuffer } | { answer: object; to: number };

const answers = new Map<number, (answer: object) => void>();
const worker = started();
/** Measures runs for exercises, so that the one that is shown goes on. */
let examiner: Worker | undefined;
let listener: Listener | undefined;
let last = 0;

function started(): Worker {
  const worker = new Worker("worker.js", { type: "module" });
  worker.onmessage = ({ data }: MessageEvent<Said>) => {
    if ("frame" in data) listener?.frame(readFrame(data.frame));
    else if ("message" in data) listener?.message(data.message);
    else answers.get(data.to)?.(data.answer);
  };
  worker.onerror = () => listener?.lost();
  return worker;
}

if (window === window.top && window.isSecureContext && "serviceWorker" in navigator) {
  // Once there is something to see: what it stores for the next time is not needed now. A queue in another page stores nothing.
  addEventListener("load", () => setTimeout(() => void navigator.serviceWorker.register("sw.js"), 5000));
}

export const backend: Backend = {
  async connect(heard) {
    listener = heard;
    return (message) => worker.postMessage({ message });
  },

  async fetch(route, body) {
    if (!body) return fetch(`data/${route}.json`);
    const asked = ++last;
    const whom = route === "check" ? worker : (examiner ??= started());
    const answer = await new Promise<object>((resolve) => {
      answers.set(asked, resolve);
      whom.postMessage({ asked, route, body });
    });
    answers.delete(asked);
    return Response.json(answer);
  },

  texts: {
    lost: "The engine has stopped. The curves stay; reload the page to continue.",
    link: "It opens this page on any device. In any other studio, paste it below.",
    limits: "This page simulates without a server. Your own Python schemes, reports and results folders need aqmlab on your machine.",
  },
};
