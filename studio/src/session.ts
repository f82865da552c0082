// A session with the half that simulates: answers to questions, news, frames.

import { backend } from "#backend";
import type { Catalogue, Frame, Layout, Message, Problem, Request } from "./protocol";

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

  private constructor(readonly tell: (message: Request & { id?: number }) => void) {}

  static async connect(): Promise<Session> {
    let session: Session | undefined;
    const tell = await backend.connect({
      message: (message) => session?.receive(message),
      frame: (frame) => session?.onFrame(frame),
      lost: () => session?.lost(),
    });
    return (session = new Session(tell));
  }

  /** Ask, and wait for the answer of this question. */
  ask<M extends Message = Message>(message: Request): Promise<M> {
    const id = ++this.last;
    this.tell({ ...message, id });
    return new Promise((resolve, reject) => this.waiting.set(id, { resolve: resolve as (message: Message) => void, reject }));
  }

  private receive(message: Message & { id?: number }): void {
    const asked = message.id === undefined ? undefined : this.waiting.get(message.id);
    if (message.id !== undefined) this.waiting.delete(message.id);
    if (message.type === "problem" && asked) return asked.reject(new Refused(message.problems));
    this.onMessage(message);
    asked?.resolve(message);
  }

  private lost(): void {
    for (const { reject } of this.waiting.values()) reject(new Error("The server has stopped."));
    this.waiting.clear();
    this.onLost();
  }
}

/** The answer of a route. */
export async function get<T>(route: string, body?: object): Promise<T> {
  const answer = await backend.fetch(route, body);
  const found = (await answer.json().catch(() => ({ error: answer.statusText }))) as T & { error?: string };
  if (!answer.ok || found.error !== undefined) throw new Error(found.error ?? answer.statusText);
  return found;
}

export const catalogue = (): Promise<Catalogue> => get("catalogue");

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
  return (await (await backend.fetch("check", { name: "mine", text, aqms })).json()) as Checked;
}

/** The run of a task: its scheme, and the curve to be read; `stops` are the times at which something is to be done or read. */
export interface TaskRun {
  aqm: string;
  scenario: string;
  stops: number[];
  curve: string;
}

export interface ShownTask {
  id: string;
  ask: "Predict" | "Do" | "Explain";
  words: string;
  run?: TaskRun;
}

export interface ShownSheet {
  values: Record<string, string>;
  scenario: string;
  tasks: ShownTask[];
}

export interface Verdict {
  task: string;
  taken: boolean;
  told: string;
}

/** What is asked about the sheet of a student. */
export interface Asked {
  want: "show" | "check" | "file";
  student: string;
  minutes: number;
  answers: Record<string, string>;
}

/** The answer about the sheet of a lesson. */
export const examined = <T>(lesson: string, asked: Asked): Promise<T> => get(`exercise/${lesson}`, asked);
