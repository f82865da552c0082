// The clock of the page's session: as python/aqmlab/studio/player.py, in the turns of a worker.

import type { Answer } from "../../../crates/wasm/engine.mjs";
import type { Frame, Message } from "../protocol";
import { refused, type Lanes, type Rows } from "./lanes";

/** About how many ms the lanes step before messages are heard. */
const SLICE = 30;
/** ms between frames. */
const FRAME_EVERY = 1000 / 30;
/** Frames that the page may have left unanswered. */
const UNDER_WAY = 3;
/** ms between tables of measures, at least, and the share of the time that they may take. */
const [TABLE_EVERY, SHARE_OF_TABLES] = [500, 0.02];
/** ms over which the speed is measured. */
const SPEED_OVER = 300;

export class Player {
  lanes: Lanes | null = null;
  epoch = 0;
  /** Simulated seconds a second; null for as fast as it goes. */
  speed: number | null = null;
  private playing = false;
  private until = 0;
  private answer: unknown = undefined;
  /** Real time (ms) and simulated time (s) from which the clock counts, and from which the speed is measured. */
  private anchored = { at: 0, now: 0 };
  private marked = { at: 0, now: 0 };
  private slice = 1e-3;
  private measured = 0;
  private columns = 0;
  private rows: Rows[] = [];
  private isNew = false;
  private lastFrame = 0;
  private nextTable = 0;
  private sequence = 0;
  private seen = 0;
  private turn = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;

  /** `soon` lets something be done after the messages that wait. */
  constructor(
    private tell: (message: Message & { id?: unknown }) => void,
    private show: (frame: Frame) => void,
    private soon: (act: () => void) => void,
  ) {}

  opened(): Lanes {
    if (!this.lanes) throw refused("open", "nothing is open; send open first");
    return this.lanes;
  }

  /** Take these lanes, paused. */
  open(lanes: Lanes): void {
    this.lanes?.close();
    [this.lanes, this.playing, this.answer, this.slice] = [lanes, false, undefined, 1e-3];
    this.rows = [];
    this.renew();
  }

  /** Play on; the state at the end answers the message with the id `answer`. */
  play(until: number | undefined, answer?: unknown): void {
    const lanes = this.opened();
    this.until = Math.min(until ?? lanes.end, lanes.end);
    this.answer = answer;
    this.playing = lanes.now < this.until;
    this.anchor();
    if (!this.playing) this.arrive();
  }

  pause(): void {
    this.playing = false;
    this.opened();
    this.table();
  }

  /** Let real time count from here. */
  anchor(): void {
    this.anchored = this.marked = { at: performance.now(), now: this.opened().now };
    this.schedule();
  }

  /** The lanes were changed by hand: columns may be others, samples go on. */
  changed(): void {
    this.flush();
    if (this.columns !== this.opened().columns().length) this.renew();
    else this.table();
  }

  state(): Message & { type: "state" } {
    const { now, end } = this.opened();
    return { type: "state", playing: this.playing, speed: this.speed, now, ended: now >= end };
  }

  /** The page has taken a frame. */
  heard(sequence: number): void {
    this.seen = Math.max(this.seen, Math.min(sequence, this.sequence));
    if (this.isNew && this.sequence - this.seen < UNDER_WAY) this.flush();
  }

  /** Hand over what is new. */
  flush(): void {
    if (!this.isNew) return;
    const lanes = this.opened();
    const { values, rows, columns } = gathered(this.rows);
    this.rows = [];
    this.isNew = false;
    this.lastFrame = performance.now();
    const content = lanes.content();
    this.show({ epoch: this.epoch, sequence: ++this.sequence, rows, columns, now: lanes.now, speed: this.measured, values, content });
  }

  private renew(): void {
    this.epoch++;
    this.columns = this.opened().columns().length;
    this.isNew = true;
    this.table();
  }

  private schedule(): void {
    const turn = ++this.turn;
    clearTimeout(this.timer);
    if (!this.playing) return;
    const step = (): void => {
      if (turn === this.turn) this.step();
    };
    const wait = this.wait();
    if (wait <= 0) this.soon(step);
    else this.timer = setTimeout(step, wait);
  }

  /** How long nothing is to be stepped, ms. */
  private wait(): number {
    if (this.speed === null) return 0;
    const { now, sample } = this.opened();
    const next = Math.min(now + sample, this.until);
    return this.anchored.at + ((next - this.anchored.now) / this.speed) * 1000 - performance.now();
  }

  /** How far to step at once: about a slice of real time, and no further than the clock is. */
  private goal(now: number): number {
    const goal = Math.min(now + this.slice, this.until);
    if (this.speed === null) return goal;
    const clock = this.anchored.now + (this.speed * (performance.now() - this.anchored.at)) / 1000;
    return Math.min(goal, Math.max(clock, now));
  }

  private step(): void {
    if (!this.playing) return;
    const lanes = this.opened();
    const [before, began] = [lanes.now, performance.now()];
    const goal = this.goal(before);
    const rows = lanes.advance(goal);
    if (goal > before) {
      const took = Math.max(performance.now() - began, 1e-3);
      this.slice = Math.min(Math.max((SLICE * (goal - before)) / took, 1e-6), 4 * this.slice);
    }
    if (rows.count) this.rows.push(rows);
    this.isNew = true;
    this.measure(lanes.now);
    if (lanes.now >= this.until) return this.arrive();
    if (performance.now() >= this.nextTable) this.table();
    if (performance.now() - this.lastFrame >= FRAME_EVERY && this.sequence - this.seen < UNDER_WAY) this.flush();
    this.schedule();
  }

  /** How fast it has gone lately, simulated seconds a second. */
  private measure(now: number): void {
    const passed = performance.now() - this.marked.at;
    if (passed < SPEED_OVER) return;
    this.measured = (1000 * (now - this.marked.now)) / passed;
    this.marked = { at: performance.now(), now };
  }

  /** Be where one wanted to be: at the end of the scenario, or paused before. */
  private arrive(): void {
    const lanes = this.opened();
    this.playing = false;
    this.table();
    this.flush();
    this.tell({ ...this.state(), ...(this.answer === undefined ? {} : { id: this.answer }) });
    this.answer = undefined;
    if (lanes.now < lanes.end) return;
    lanes.finish();
    this.tell({ type: "done", now: lanes.now, lanes: lanes.document().map(({ label }, i) => ({ label, result: lanes.result(i) })) });
  }

  private table(): void {
    const began = performance.now();
    const lanes = this.opened();
    this.tell({ type: "table", now: lanes.now, lanes: lanes.soFar().map(measures) });
    const now = performance.now();
    this.nextTable = now + Math.max(TABLE_EVERY, (now - began) / SHARE_OF_TABLES);
    this.isNew = true;
  }
}

/** Rows of all lanes side by side, column by column; the time, which all have, once. */
export function gathered(parts: Rows[]): { values: Float32Array<ArrayBuffer>; rows: number; columns: number } {
  const rows = parts.reduce((sum, { count }) => sum + count, 0);
  const columns = parts.length ? 1 + parts[0]!.widths.reduce((sum, width) => sum + width - 1, 0) : 0;
  const values = new Float32Array(rows * columns);
  let row = 0;
  for (const { count, lanes, widths } of parts) {
    for (let i = 0; i < count; i++, row++) {
      let column = 0;
      for (const [lane, numbers] of lanes.entries()) {
        const width = widths[lane]!;
        for (let at = lane === 0 ? 0 : 1; at < width; at++) values[column++ * rows + row] = numbers[i * width + at]!;
      }
    }
  }
  return { values, rows, columns };
}

/** The measures of a run by their full names, such as "links.bottleneck.queue_mean". */
export function measures(result: Answer | null): Record<string, number | null> {
  const found: Record<string, number | null> = {};
  const add = (path: string, value: unknown): void => {
    if (Array.isArray(value)) return;
    if (typeof value !== "object" || value === null) found[path] = value as number | null;
    else for (const [key, inner] of Object.entries(value)) add(`${path}.${key}`, inner);
  };
  if (result) for (const key of ["links", "flows", "total"]) add(key, result[key]);
  return found;
}
