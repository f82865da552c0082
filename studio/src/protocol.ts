// What the server and the page say to each other. Times in s, rates in bit/s, queues in packets.

export interface Parameter {
  name: string;
  unit: string;
  default: string;
  range: [string, string] | null;
  choices: string[] | null;
  doc: string;
}

export interface Scheme {
  name: string;
  title: string;
  family: string;
  year: number;
  summary: string;
  parameters: Parameter[];
  observables: { name: string; unit: string; doc: string }[];
  own: boolean;
  /** Parameters with the queue it steers to; null if it steers to no length. */
  target?: string[] | null;
}

export interface Measure {
  name: string;
  of: "link" | "flows";
  title: string;
  unit: string;
  definition: string;
  better: "more" | "less" | null;
  shown: { scale: number; unit: string; digits: number; exponent: boolean };
}

export interface Catalogue {
  version: string;
  schemes: Scheme[];
  families: string[];
  scenarios: { name: string; title: string; study: string | null }[];
  tcps: { name: string; title: string; summary: string; parameters: Parameter[] }[];
  measures: Measure[];
  /** Keys of a link, and of a group of flows, that can change during a run. */
  changeable: [string[], string[]];
  lessons: { id: string; title: string; summary: string }[];
  studies: { name: string; title: string; source: string }[];
  results: boolean;
  scenario: string | null;
  limits: { lanes: number; marks: number; flows: number; bytes: number };
}

export interface Link {
  name: string;
  rate: number;
  /** "varies" where it does. */
  rate_text: string;
  /** What the queue has room for, and what schemes aim at, in packets; as the scenario writes it. */
  packets: number;
  target_packets: number;
  buffer: string;
  target: string;
  ecn: boolean;
  x: number;
  aqm: string;
}

export interface Group {
  name: string;
  kind: string;
  count: number;
  rtt: number | null;
  rtt_text: string | null;
  path: string[];
  law: string | null;
  rate: number | null;
}

export interface Change {
  at: number;
  path: string;
  value: string;
}

export interface Lane {
  label: string;
  /** null: the schemes that the scenario has. */
  aqm: string | null;
  links: Record<string, { aqm: string; parameters: Record<string, string> }>;
  changes: Change[];
}

export interface Column {
  lane: number | null;
  of: "time" | "link" | "scheme" | "group" | "flow";
  place: string;
  index: number | null;
  name: string;
  unit: string;
}

export interface Mark {
  mark: number;
  name: string;
  at: number;
}

export interface Layout {
  links: Link[];
  groups: Group[];
}

export interface Opened extends Layout {
  type: "opened";
  epoch: number;
  name: string;
  title: string;
  text: string;
  seed: number;
  now: number;
  end: number;
  warmup: number;
  sample: number;
  lanes: Lane[];
  columns: Column[];
  content: { links: string[]; groups: string[] };
  marks: Mark[];
}

export interface Problem {
  field: string | null;
  message: string;
  line: number | null;
  column: number | null;
  length: number | null;
  lane: number | null;
}

export interface State {
  type: "state";
  playing: boolean;
  speed: number | null;
  now: number;
  ended: boolean;
}

export interface Changed {
  type: "changed";
  now: number;
  epoch: number;
  columns: Column[];
  lanes: Lane[];
}

export interface Measured {
  type: "table";
  now: number;
  lanes: Record<string, number | null>[];
}

export interface Exported {
  type: "export";
  what: string;
  name: string;
  media: string;
  text: string;
}

export type Message =
  | Opened
  | State
  | Changed
  | Measured
  | Exported
  | { type: "marks"; marks: Mark[] }
  | { type: "done"; now: number; lanes: { label: string; result: unknown }[] }
  | { type: "problem"; problems: Problem[] };

/** What a run is opened with. */
export interface Opening {
  scenario?: string;
  text?: string;
  name?: string;
  /** null: the schemes that the scenario has. */
  aqms: (string | null)[];
  seed?: number;
  sample?: number;
  flows?: [string, number][];
  blast?: string | null;
}

export interface Frame {
  epoch: number;
  sequence: number;
  rows: number;
  columns: number;
  now: number;
  speed: number;
  /** Column by column. */
  values: Float32Array;
  content: Float32Array;
}

const HEADER = 40;

/** Read a binary frame; its numbers are views into the message, not copies. */
export function readFrame(buffer: ArrayBuffer): Frame {
  const view = new DataView(buffer);
  const [epoch, sequence, rows, columns, content] = [4, 8, 12, 16, 20].map((at) => view.getUint32(at, true)) as [
    number, number, number, number, number,
  ];
  return {
    epoch,
    sequence,
    rows,
    columns,
    now: view.getFloat64(24, true),
    speed: view.getFloat64(32, true),
    values: new Float32Array(buffer, HEADER, columns * rows),
    content: new Float32Array(buffer, HEADER + 4 * columns * rows, content),
  };
}

/** What a column is, whatever its place among the others. */
export const keyOf = (column: Column): string =>
  [column.lane, column.of, column.place, column.index, column.name].join("|");

/** A scheme as it is written: `pi:w=340 Hz,target=...`. */
export function readSpec(spec: string): { name: string; set: Record<string, string> } {
  const colon = spec.indexOf(":");
  if (colon < 0) return { name: spec, set: {} };
  const pairs = spec.slice(colon + 1).split(",").map((pair) => pair.split("=", 2).map((part) => part.trim()));
  return { name: spec.slice(0, colon), set: Object.fromEntries(pairs.filter((pair) => pair.length === 2)) };
}

export function writeSpec(name: string, set: Record<string, string>): string {
  const pairs = Object.entries(set).map(([key, value]) => `${key}=${value}`);
  return pairs.length ? `${name}:${pairs.join(",")}` : name;
}
