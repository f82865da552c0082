// The run that is shown: what the server said last, the curves so far, and who wants to hear of it.

import {
  keyOf, type Change, type Changed, type Column, type Frame, type Mark, type Measured, type Message, type Opened,
  type Opening, type Problem,
} from "./protocol";
import { Rows } from "./rows";
import { type Session } from "./session";

/** What is taken in turns: a run was opened, the present changed, a frame came, measures, marks, a change by hand. */
type Topic = "opened" | "state" | "frame" | "measured" | "marks" | "changed";

/** Where an earlier way went on after the mark: pale behind the new one. */
export interface Earlier {
  columns: Map<string, number>;
  rows: Rows;
  from: number;
}

export class Model {
  run: Opened | null = null;
  opening: Opening = { aqms: ["droptail"] };
  playing = false;
  ended = false;
  /** The server has ended: nothing can be done any more. */
  lost = false;
  now = 0;
  speed: number | null = 1;
  measured = 0;
  rows = new Rows(1);
  content: Float32Array = new Float32Array(0);
  marks: Mark[] = [];
  measures: Measured["lanes"] = [];
  earlier: Earlier | null = null;
  /** How often something was opened. */
  turn = 0;
  /** Hears of problems that no question asked for: a simulation broke down in a step. */
  onProblem: (problems: Problem[]) => void = () => {};
  private rewinding = false;
  private places = new Map<string, number>();
  private once: { topic: Topic; resolve: () => void }[] = [];
  private heard = new Map<Topic, (() => void)[]>();

  constructor(readonly session: Session) {
    session.onMessage = (message) => this.take(message);
    session.onFrame = (frame) => this.grow(frame);
  }

  on(topics: Topic[], act: () => void): void {
    for (const topic of topics) this.heard.set(topic, [...(this.heard.get(topic) ?? []), act]);
  }

  /** Place of a column among the rows, if there is one. */
  place(column: Pick<Column, "lane" | "of" | "place" | "index" | "name">): number | undefined {
    return this.places.get(keyOf(column as Column));
  }

  async open(opening: Opening): Promise<void> {
    const before = this.opening;
    this.opening = opening;
    try {
      await this.session.ask({ ...opening, type: "open" });
    } catch (error) {
      this.opening = before;
      throw error;
    }
    await this.session.ask({ type: "speed", speed: this.speed });
  }

  async play(until?: number): Promise<void> {
    await this.session.ask({ type: "play", ...(until === undefined ? {} : { until }) });
  }

  /** Run up to a time; false if something else was done meanwhile. */
  async until(time: number): Promise<boolean> {
    const { turn } = this;
    const there = () => this.now >= time - 1e-9;
    if (there()) return true;
    await this.play(time);
    while (this.playing && this.turn === turn) await this.next("state");
    return there();
  }

  /** Wait until there is news of a kind. */
  private next(topic: Topic): Promise<void> {
    return new Promise((resolve) => this.once.push({ topic, resolve }));
  }

  async pause(): Promise<void> {
    await this.session.ask({ type: "pause" });
  }

  async step(span?: number): Promise<void> {
    await this.session.ask({ type: "step", ...(span === undefined ? {} : { span }) });
  }

  async setSpeed(speed: number | null): Promise<void> {
    this.speed = speed;
    await this.session.ask({ type: "speed", speed });
  }

  async set(path: string, value: string, lane: number | null = null): Promise<void> {
    await this.session.ask({ type: "set", path, value, lane });
  }

  async halve(group: string | null): Promise<void> {
    await this.session.ask({ type: "halve", group });
  }

  async mark(name: string): Promise<void> {
    await this.session.ask({ type: "mark", name });
  }

  /** Go back to a mark; what came after it stays in sight behind the way taken next. */
  async rewind(mark: number): Promise<void> {
    this.rewinding = true;
    try {
      await this.session.ask({ type: "rewind", mark });
    } finally {
      this.rewinding = false;
    }
  }

  /** Everything changed by hand, with its lane; null where it holds for all. */
  changes(): (Change & { lane: number | null })[] {
    const lanes = this.run?.lanes ?? [];
    const made = lanes.flatMap(({ changes }, lane) => changes.map((change) => ({ ...change, lane: lane as number | null })));
    const shared = (change: Change) => lanes.every(({ changes }) => changes.some((other) => same(other, change)));
    return made
      .filter((change) => change.lane === 0 || !shared(change))
      .map((change) => (shared(change) ? { ...change, lane: null } : change))
      .sort((a, b) => a.at - b.at);
  }

  /** Flows of a group now: as the scenario has them, or as changed by hand in all lanes. */
  count(group: string): number {
    const changed = this.changes().findLast(({ path, lane }) => path === `flows.${group}.count` && lane === null);
    return changed ? Number(changed.value) : (this.run?.groups.find(({ name }) => name === group)?.count ?? 0);
  }

  /** The server has ended. */
  end(): void {
    [this.lost, this.playing] = [true, false];
    this.say("state");
  }

  private take(message: Message): void {
    if (message.type === "opened") this.opened(message);
    else if (message.type === "changed") this.changed(message);
    else if (message.type === "state") {
      this.playing = message.playing;
      this.ended = message.ended;
      this.now = message.now;
      this.say("state");
    } else if (message.type === "table") {
      this.measures = message.lanes;
      this.say("measured");
    } else if (message.type === "marks") {
      this.marks = message.marks;
      this.say("marks");
    } else if (message.type === "problem") {
      this.playing = false;
      this.say("state");
      this.onProblem(message.problems);
    }
  }

  private opened(message: Opened): void {
    const again = this.rewinding;
    this.rewinding = false;
    if (again) this.keep(message.now);
    else this.earlier = null;
    this.run = message;
    this.turn++;
    this.arrange(message.columns, again);
    if (again) this.rows.cut(message.now);
    this.content = new Float32Array(message.lanes.length * message.content.links.length * message.content.groups.length);
    [this.marks, this.measures] = [message.marks, []];
    [this.playing, this.ended, this.now] = [false, false, message.now];
    for (const topic of ["opened", "marks", "state", "measured"] as const) this.say(topic);
  }

  private changed(message: Changed): void {
    if (!this.run) return;
    const columnsMoved = message.epoch !== this.run.epoch;
    this.run = { ...this.run, epoch: message.epoch, columns: message.columns, lanes: message.lanes };
    if (columnsMoved) this.arrange(message.columns, true);
    this.say("changed");
  }

  /** Make room for other columns; those that were there before keep their values. */
  private arrange(columns: Column[], keep: boolean): void {
    const from = columns.map((column) => this.places.get(keyOf(column)) ?? null);
    this.rows = keep ? this.rows.arranged(from) : new Rows(columns.length);
    this.places = new Map(columns.map((column, i) => [keyOf(column), i]));
  }

  private keep(from: number): void {
    const rows = this.rows.copy();
    this.earlier = { rows, from: Math.max(0, rows.rowAfter(from) - 1), columns: this.places };
  }

  private grow(frame: Frame): void {
    this.session.tell({ type: "seen", sequence: frame.sequence });
    if (!this.run || frame.epoch !== this.run.epoch) return;
    if (frame.rows) this.rows.append(frame);
    this.content = frame.content;
    if (this.playing || frame.rows) this.now = frame.now;
    this.measured = frame.speed;
    this.say("frame");
  }

  private say(topic: Topic): void {
    for (const act of this.heard.get(topic) ?? []) act();
    if (!this.once.length) return;
    const due = this.once.filter((each) => each.topic === topic);
    this.once = this.once.filter((each) => each.topic !== topic);
    for (const { resolve } of due) resolve();
  }
}

const same = (a: Change, b: Change): boolean => a.at === b.at && a.path === b.path && a.value === b.value;
