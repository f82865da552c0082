// The connection to the server: answers to questions, news, frames.

import { readFrame, type Catalogue, type Frame, type Layout, type Message, type Problem } from "./protocol";

/** The server refused; each problem may know its line. */
export class Refused extends Error {
  constructor(readonly problems: Problem[]) {
    super(problems.map((problem) => problem.message).join("\n"));
  }
}

interface Waiting {
  resolve: (message: Message) => void;
  reject: (error: Error) => void;
}

export class Session {
  onMessage: (message: Message) => void = () => {};
  onFrame: (frame: Frame) => void = () => {};
  onLost: () => void = () => {};
  private waiting = new Map<number, Waiting>();
  private last = 0;

  private constructor(private socket: WebSocket) {
    socket.binaryType = "arraybuffer";
    socket.onmessage = ({ data }) => this.receive(data);
    socket.onclose = () => this.lost();
  }

  static connect(): Promise<Session> {
    const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/session`);
    return new Promise((resolve, reject) => {
      socket.onopen = () => resolve(new Session(socket));
      socket.onerror = () => reject(new Error("The server refuses the connection: open the address that `aqmlab studio` prints."));
    });
  }

  /** Ask, and wait for the answer of this question. */
  ask<M extends Message = Message>(message: { type: string; [key: string]: unknown }): Promise<M> {
    const id = ++this.last;
    this.tell({ ...message, id });
    return new Promise((resolve, reject) => this.waiting.set(id, { resolve: resolve as (message: Message) => void, reject }));
  }

  /** Say what has no answer. */
  tell(message: { type: string; [key: string]: unknown }): void {
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  private receive(data: string | ArrayBuffer): void {
    if (data instanceof ArrayBuffer) return this.onFrame(readFrame(data));
    const message = JSON.parse(data) as Message & { id?: number };
    const asked = message.id === undefined ? undefined : this.waiting.get(message.id);
    if (message.id !== undefined) this.waiting.delete(message.id);
    if (message.type === "problem" && asked) return asked.reject(new Refused(message.problems));
    this.onMessage(message);
    asked?.resolve(message);
  }

  private lost(): void {
    for (const { reject } of this.waiting.values()) reject(new Error("The server has ended."));
    this.waiting.clear();
    this.onLost();
  }
}

/** The answer of a route of the server. */
export async function get<T>(path: string): Promise<T> {
  const answer = await fetch(path);
  const body = (await answer.json().catch(() => ({ error: answer.statusText }))) as T & { error?: string };
  if (!answer.ok) throw new Error(body.error ?? answer.statusText);
  return body;
}

export const catalogue = (): Promise<Catalogue> => get("/api/catalogue");

/** What is wrong with a scenario as it stands. */
export async function check(text: string, aqms: string[]): Promise<Problem[]> {
  const { problems, error } = await checked(text, aqms);
  return problems ?? [{ field: null, message: error ?? "refused", line: null, column: null, length: null, lane: null }];
}

/** Links and groups of a scenario without problems. */
export const layout = async (text: string): Promise<Layout | undefined> => (await checked(text, [])).opened;

interface Checked {
  problems?: Problem[];
  opened?: Layout;
  error?: string;
}

async function checked(text: string, aqms: string[]): Promise<Checked> {
  const body = JSON.stringify({ name: "mine", text, aqms });
  const answer = await fetch("/api/check", { method: "POST", body, headers: { "Content-Type": "application/json" } });
  return (await answer.json()) as Checked;
}
