// A server that plays: what the page asks is written down, and a test says what comes back.

import { Model } from "../src/model";
import type { Column, Frame, Lane, Message, Opened } from "../src/protocol";
import type { Session } from "../src/session";

type Asked = { type: string; [key: string]: unknown };

export class Server {
  readonly asked: Asked[] = [];
  readonly told: Asked[] = [];
  onMessage: (message: Message) => void = () => {};
  onFrame: (frame: Frame) => void = () => {};
  /** What is done before a question is answered. */
  answer: (asked: Asked) => void = () => {};

  async ask(asked: Asked): Promise<void> {
    this.asked.push(asked);
    this.answer(asked);
  }

  tell(message: Asked): void {
    this.told.push(message);
  }

  state(now: number, playing: boolean): void {
    this.onMessage({ type: "state", playing, speed: 1, now, ended: false });
  }
}

/** A model whose server plays at once to the time that it is asked for. */
export function playing(run = opened()): { model: Model; server: Server } {
  const server = new Server();
  const model = new Model(server as unknown as Session);
  server.answer = ({ type, until }) => {
    if (type === "open") server.onMessage(run);
    if (type === "play") server.state(model.now, true);
    if (type === "play" && until !== undefined) queueMicrotask(() => server.state(until as number, false));
  };
  server.onMessage(run);
  return { model, server };
}

export const column = (name: string, of: Column["of"] = "link", lane: number | null = 0, place = "uplink"): Column => ({
  lane, of, place, index: of === "flow" ? 0 : null, name, unit: "",
});

export const TIME: Column = { lane: null, of: "time", place: "", index: null, name: "time", unit: "s" };

export const lane = (aqm: string, changes: Lane["changes"] = [], parameters: Record<string, string> = {}): Lane => ({
  label: aqm, aqm, links: { uplink: { aqm, parameters } }, changes,
});

const MORE = { ack_path: [], ecn: false, start: "0 s", stop: null };

/** A run of two schemes on one link, under which ten flows go. */
export function opened(other: Partial<Opened> = {}): Opened & { type: "opened" } {
  const link = {
    name: "uplink", rate: 20e6, rate_text: "20 Mbit/s", packets: 200, target_packets: 50, buffer: "2 bdp", target: "50 packets",
    ecn: false, x: 0, aqm: "pi", delay: "10 ms", fixed: false,
  };
  const group = { name: "bulk", kind: "tcp", count: 10, rtt: 0.04, rtt_text: "40 ms", path: ["uplink"], law: "cubic", rate: null, ...MORE };
  return {
    type: "opened", epoch: 1, name: "home/call", file: "home-call", title: "A call", text: "", seed: 1, now: 0, end: 60, warmup: 0, sample: 0.05,
    lanes: [lane("pi"), lane("codel")],
    columns: [TIME, column("queue"), column("queue", "link", 1)],
    content: { links: ["uplink"], groups: ["bulk"] }, marks: [], links: [link], groups: [group],
    ...other,
  };
}

/** A frame of rows, each beginning with its time. */
export function frame(rows: number[][], other: Partial<Frame> = {}): Frame {
  const columns = rows[0]?.length ?? 0;
  const values = Float32Array.from({ length: columns * rows.length }, (_, i) => rows[i % rows.length]![Math.floor(i / rows.length)]!);
  const now = rows.at(-1)?.[0] ?? 0;
  return { epoch: 1, sequence: 1, rows: rows.length, columns, now, speed: 1, values, content: new Float32Array(1), ...other };
}
