// Schemes side by side in one scenario under one seed: as python/aqmlab/studio/lanes.py, on the engine of the page.

import type { Answer, Engine } from "../../../crates/wasm/engine.mjs";
import type { Change, Column, Lane as Shown, Problem } from "../protocol";
import { readSpec } from "../protocol";
import { BLAST } from "../quantities";
import type { Described } from "./layout";

/** The engine refuses. */
export class Refused extends Error {
  constructor(readonly problems: Problem[]) {
    super(problems.map(({ message }) => message).join("\n"));
  }
}

export const refused = (field: string, message: string, lane: number | null = null): Refused =>
  new Refused([{ field, message, line: null, column: null, length: null, lane }]);

/** Ask the engine. */
export function ask(engine: Engine, request: { ask: string; [field: string]: unknown }, lane: number | null = null): Answer {
  const answer = engine.ask(request);
  if (!answer.problems) return answer;
  throw new Refused(answer.problems.map(({ path, reason, line, column, length }) => ({ field: path || null, message: reason, line, column, length, lane })));
}

/** Lanes. */
export const MOST = 8;
/** Samples of a run unless more are asked for: two for each pixel of a wide page. */
const MOST_SAMPLES = 2400;
/** Flows whose windows are shown. */
const MOST_FLOWS = 16;
/** Rate of one source of a blast, as a share of the link's. */
const BLAST_SHARE = 0.1;
/** Bytes that a flow and a packet in a queue take, about. */
const [PER_FLOW, PER_PACKET] = [2000, 64];
/** Behind the title of a scheme whose law is not all as published (present/labels.py). */
const MARKS: Record<string, string> = { fitted: "†", reconstructed: "‡" };

type Flow = [group: string, number: number];

export interface Setting {
  /** What the page calls it, and what its files are called. */
  name: string;
  file: string;
  text: string;
  aqms: (string | null)[];
  seed: number;
  sample: number | undefined;
  flows: Flow[] | undefined;
  blast: string | null;
}

interface Lane {
  aqm: string | null;
  id: number;
  changes: Change[];
  /** There at the end. */
  result: Answer | null;
}

/** Rows of a lane, one after the other. */
export interface Rows {
  count: number;
  lanes: Float32Array[];
  widths: number[];
}

export class Lanes {
  now = 0;
  readonly end: number;
  readonly sample: number;
  readonly flows: Flow[];
  readonly text: string;
  readonly scenario: Described;
  private lanes: Lane[] = [];

  constructor(private engine: Engine, readonly setting: Setting) {
    const { aqms, seed, file } = setting;
    if (!(aqms.length >= 1 && aqms.length <= MOST)) throw refused("aqms", `${aqms.length} schemes; 1 to ${MOST} can run side by side`);
    if (!(Number.isSafeInteger(seed) && seed >= 0)) throw refused("seed", `${seed}: expected a whole number from 0 to ${Number.MAX_SAFE_INTEGER}`);
    this.text = blasted(this.describe(setting.text), setting);
    this.scenario = this.describe(this.text);
    const { duration, sample } = this.scenario;
    if (setting.sample !== undefined && !(setting.sample >= 1e-4 && setting.sample <= duration)) {
      throw refused("sample", `${setting.sample} s: expected 0.0001 s up to the duration`);
    }
    this.sample = setting.sample ?? Math.max(sample, duration / MOST_SAMPLES);
    this.flows = setting.flows ?? this.firstFlows();
    this.end = duration;
    try {
      for (const [i, aqm] of aqms.entries()) {
        const { id } = ask(engine, { ask: "open", scenario: this.text, name: file, aqm, seed }, i);
        this.lanes.push({ aqm, id, changes: [], result: null });
      }
      this.columns();
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** About how many bytes they take. */
  get memory(): number {
    const flows = this.scenario.groups.reduce((sum, { count }) => sum + count, 0);
    const packets = this.scenario.links.reduce((sum, link) => sum + link.packets, 0);
    return (1e5 + PER_FLOW * flows + PER_PACKET * packets) * this.lanes.length;
  }

  get links(): string[] {
    return this.scenario.links.map(({ name }) => name);
  }

  get groups(): string[] {
    return this.scenario.groups.map(({ name }) => name);
  }

  get count(): number {
    return this.lanes.length;
  }

  /** Let everything happen up to a time in all lanes. */
  advance(until: number): Rows {
    const rows: Rows = { count: 0, lanes: [], widths: [] };
    for (const [i, { id }] of this.lanes.entries()) {
      const { now, start, numbers, width } = ask(this.engine, { ask: "sample", id, until, every: this.sample, flows: this.flows }, i);
      this.now = now;
      rows.lanes.push(this.engine.numbers(start, numbers));
      rows.widths.push(width);
      rows.count = numbers / width;
    }
    return rows;
  }

  columns(): Column[] {
    return this.lanes.flatMap(({ id }, lane) => {
      const columns = ask(this.engine, { ask: "columns", id, flows: this.flows }, lane).columns as Column[];
      return columns.filter(({ of }) => lane === 0 || of !== "time").map((column) => ({ ...column, lane: column.of === "time" ? null : lane }));
    });
  }

  /** How many packets wait now, by lane, link and group. */
  content(): Float32Array<ArrayBuffer> {
    return Float32Array.from(this.lanes.flatMap(({ id }) => (ask(this.engine, { ask: "content", id }).links as number[][]).flat()));
  }

  /** Change something now, in one lane or all; where a lane refuses it nothing has changed. */
  set(path: string, value: string, lane: number | null): void {
    if (lane !== null && !this.lanes[lane]) throw refused("lane", `${lane}: expected one of 0 to ${this.lanes.length - 1}, or null`);
    const chosen = lane === null ? [...this.lanes.keys()] : [lane];
    const before = chosen.length > 1 ? this.copies() : [];
    try {
      for (const i of chosen) this.change(i, path, value);
    } catch (error) {
      if (before.length) {
        this.close();
        this.lanes = before;
      }
      throw error;
    }
    this.forget(before);
  }

  /** Stop half of the flows of these groups that are there. */
  halve(groups: string[]): void {
    for (const [i, { id }] of this.lanes.entries()) {
      for (const group of groups) {
        const { count } = ask(this.engine, { ask: "count", id, group });
        this.change(i, `flows.${group}.count`, String((count + 1) >> 1));
      }
    }
  }

  /** A copy that goes its own way. */
  fork(): Lanes {
    const copy = Object.assign(Object.create(Lanes.prototype) as Lanes, this);
    copy.lanes = this.copies();
    return copy;
  }

  /** Forget the simulations. */
  close(): void {
    this.forget(this.lanes);
  }

  /** What each lane has measured until now; nothing before the warm-up is over. */
  soFar(): (Answer | null)[] {
    return this.lanes.map(({ id, result }) => result ?? ask(this.engine, { ask: "so_far", id }).result);
  }

  /** What each lane has measured at the end. */
  finish(): void {
    for (const [i, result] of this.soFar().entries()) this.lanes[i]!.result = result;
  }

  toml(lane: number): string {
    return ask(this.engine, { ask: "toml", id: this.lanes[lane]!.id }).text;
  }

  /** A lane's scenario, with all that was changed by hand, from start to end. */
  again(lane: number, name: string, series: boolean): Answer {
    const { aqm } = this.lanes[lane]!;
    return ask(this.engine, { ask: "run", scenario: this.toml(lane), name, aqm, seed: this.setting.seed, series }, lane);
  }

  result(lane: number): Answer | null {
    return this.lanes[lane]!.result;
  }

  /** What each lane is now. */
  document(): Shown[] {
    return this.lanes.map((lane) => ({
      label: this.label(lane),
      aqm: lane.aqm,
      links: Object.fromEntries(this.links.map((link) => [link, this.at(link, lane)])),
      changes: lane.changes,
    }));
  }

  private describe(text: string): Described {
    return ask(this.engine, { ask: "describe", scenario: text, name: this.setting.file, aqm: null }) as unknown as Described;
  }

  /** The first flow of each group of lasting TCP flows. */
  private firstFlows(): Flow[] {
    return this.scenario.groups.filter(({ kind, count }) => kind === "ftp" && count > 0).map(({ name }): Flow => [name, 0]).slice(0, MOST_FLOWS);
  }

  private change(i: number, path: string, value: string): void {
    const lane = this.lanes[i]!;
    ask(this.engine, { ask: "set", id: lane.id, path, value }, i);
    lane.changes.push({ at: this.now, path, value });
  }

  private copies(): Lane[] {
    return this.lanes.map((lane) => ({ ...lane, id: ask(this.engine, { ask: "fork", id: lane.id }).id, changes: [...lane.changes] }));
  }

  private forget(lanes: Lane[]): void {
    for (const { id } of lanes) ask(this.engine, { ask: "close", id });
  }

  /** "PI, now CoDel, target=8 ms" */
  private label(lane: Lane): string {
    const first = lane.aqm === null ? "as in the scenario" : this.title(lane.aqm);
    const now = this.links.flatMap((link) => {
      const { aqm, moved } = byHand(lane, link);
      const words = [...(aqm ? [this.title(aqm)] : []), ...Object.entries(moved).map(([name, value]) => `${name}=${value}`)];
      return words.length ? [`now ${words.join(", ")}${this.links.length > 1 ? ` at ${link}` : ""}`] : [];
    });
    return [first, ...now].join(", ");
  }

  /** The title of a scheme with its mark and parameters; "up: CAKE, down: CoDel" of one for each link. */
  private title(spec: string): string {
    const at = [...spec.matchAll(/([^+@]+(?:\+[^+@]+)*?)@([\w-]+)(?:\+|$)/g)];
    if (at.length) return at.map(([, scheme, link]) => `${link}: ${this.title(scheme!.trim())}`).join(", ");
    const { name } = readSpec(spec);
    const given = spec.slice(name.length + 1);
    const { title, standing } = ask(this.engine, { ask: "title", scheme: name });
    return `${title}${MARKS[standing] ?? ""}${given ? ` (${given})` : ""}`;
  }

  private at(link: string, lane: Lane): Shown["links"][string] {
    const { aqm: given, moved } = byHand(lane, link);
    const aqm: string = given ?? ask(this.engine, { ask: "used", id: lane.id, link, aqm: lane.aqm }).aqm;
    const { parameters } = ask(this.engine, { ask: "parameters", id: lane.id, aqm });
    return { aqm, parameters: { ...parameters, ...moved } };
  }
}

/** The scheme that was set at a link, and the parameters set of the present one. */
function byHand(lane: Lane, link: string): { aqm: string | null; moved: Record<string, string> } {
  let [aqm, moved]: [string | null, Record<string, string>] = [null, {}];
  for (const { path, value } of lane.changes) {
    const [links, name, key, parameter, ...more] = path.split(".");
    if (links !== "links" || name !== link || key !== "aqm" || more.length) continue;
    if (parameter === undefined) [aqm, moved] = [value, {}];
    else moved[parameter] = value;
  }
  return { aqm, moved };
}

/** The text with a group of datagrams over one link, empty at first; `count` makes a blast of it. */
function blasted(scenario: Described, { text, blast }: Setting): string {
  if (blast === null || scenario.groups.some(({ name }) => name === BLAST)) return text;
  const link = scenario.links.find(({ name }) => name === blast);
  if (!link) throw refused("blast", `${blast}: no link; expected one of ${scenario.links.map(({ name }) => name).join(", ")}`);
  const rate = Number((BLAST_SHARE * link.rate).toPrecision(12));
  const values = { name: BLAST, kind: "udp-cbr", count: 0, path: [blast], rate: `${rate} bit/s`, rtt: `${Math.round(2e12 * link.delay) + 1} ps`, packet: "1000 B" };
  const lines = Object.entries(values).map(([key, value]) => `${key} = ${JSON.stringify(value)}`);
  return `${text}\n[[flows]]\n${lines.join("\n")}\n`;
}

