// What a curve was between two times, for whoever reads it or has to answer for it.

import { h } from "./dom";
import type { Model } from "./model";
import type { Part, Quantity } from "./quantities";
import type { Rows } from "./rows";
import { short } from "./scale";

interface Stretch {
  mean: number;
  least: number;
  most: number;
  deviation: number;
  /** Share of the samples that are 0. */
  zero: number;
}

/** Two fields for times, and below them what each line of a quantity was between them. */
export function meansOf(model: Model, quantity: Quantity, lines: () => { part: Part; label: string }[]): { element: HTMLElement; write: () => void } {
  const time = (label: string) => h("input", { type: "number", min: 0, step: "any", "aria-label": `${label}, s` });
  const [from, to] = [time("Mean from"), time("Mean to")];
  const told = h("output", {});
  let written = "";
  const write = (): void => {
    const isAsked = from.value !== "" && to.value !== "";
    const found = isAsked ? lines().map(({ part, label }) => `${label}: ${worded(stretchOf(model.rows, part.column, Number(from.value), Number(to.value)), quantity)}`) : [];
    if (written === (written = found.join("\n"))) return;
    told.replaceChildren(...found.map((line) => h("div", {}, line)));
  };
  for (const each of [from, to]) each.addEventListener("input", write);
  return { element: h("div", { className: "means" }, "Mean from", from, "to", to, "s", told), write };
}

function worded(found: Stretch | null, { scale, unit }: Quantity): string {
  if (!found) return "nothing yet";
  const [mean, least, most, deviation] = [found.mean, found.least, found.most, found.deviation].map((value) => short(value * scale));
  const zero = found.zero > 0 && found.zero < 1 ? `, 0 for ${short(100 * found.zero)} % of the time` : "";
  return `mean ${mean} ${unit}`.trim() + ` (${least} to ${most}, standard deviation ${deviation}${zero})`;
}

/** What a column was after a time and up to another; null if there is nothing of it. */
export function stretchOf(rows: Rows, column: number, from: number, to: number): Stretch | null {
  const values = rows.column(column).subarray(rows.rowAfter(from), rows.rowAfter(to)).filter((value) => !Number.isNaN(value));
  if (!values.length) return null;
  const meanOf = (of: (value: number) => number): number => values.reduce((sum, value) => sum + of(value), 0) / values.length;
  const mean = meanOf((value) => value);
  return {
    mean, least: values.reduce((a, b) => Math.min(a, b)), most: values.reduce((a, b) => Math.max(a, b)),
    deviation: Math.sqrt(meanOf((value) => (value - mean) ** 2)), zero: meanOf((value) => Number(value === 0)),
  };
}
