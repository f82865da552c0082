// What the page gets besides messages: the catalogue, frames; schemes as they are written. Times in s, rates in bit/s, queues in packets.

import type { Column } from "./messages";

export type * from "./messages";

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
