// The page without a server: a worker has the engine, files have what a server would have answered.

import type { Backend, Listener } from "./backend";
import type { Frame, Message } from "./protocol";

/** What the worker says: news of the session, or the answer to a check. */
export type Said = { message: Message & { id?: number } } | { frame: Frame } | { checked: object; check: number };

const worker = new Worker("worker.js", { type: "module" });
const checks = new Map<number, (checked: object) => void>();
let listener: Listener | undefined;
let last = 0;

worker.onmessage = ({ data }: MessageEvent<Said>) => {
  if ("frame" in data) listener?.frame(data.frame);
  else if ("message" in data) listener?.message(data.message);
  else checks.get(data.check)?.(data.checked);
};
worker.onerror = () => listener?.lost();

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
    const check = ++last;
    const checked = await new Promise<object>((resolve) => {
      checks.set(check, resolve);
      worker.postMessage({ check, body });
    });
    checks.delete(check);
    return Response.json(checked);
  },

  texts: {
    lost: "The engine has ended. What is drawn stays; load the page again to go on.",
    link: "It opens wherever this page does, and in any other studio when it is pasted below.",
    limits: "This page simulates by itself, without a server. Schemes of your own in Python, reports, and folders of results need aqmlab on your machine.",
  },
};
