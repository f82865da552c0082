// The mean of curves between two times, which a student or a reader asks for.

import { h, setText } from "./dom";
import type { Model } from "./model";
import type { Part, Quantity } from "./quantities";
import type { Rows } from "./rows";
import { short } from "./scale";

/** Two fields for times, and below them the mean of each line of a quantity between them. */
export function meansOf(model: Model, quantity: Quantity, lines: () => { part: Part; label: string }[]): { element: HTMLElement; write: () => void } {
  const time = (label: string) => h("input", { type: "number", min: 0, step: "any", "aria-label": `${label}, s` });
  const [from, to] = [time("Mean from"), time("Mean to")];
  const told = h("output", {});
  const write = (): void => {
    const isAsked = from.value !== "" && to.value !== "";
    const found = isAsked ? lines().map(({ part, label }) => {
      const mean = meanOf(model.rows, part.column, Number(from.value), Number(to.value));
      return `${label} ${mean === null ? "nothing yet" : `${short(mean * quantity.scale)} ${quantity.unit}`.trim()}`;
    }) : [];
    setText(told, found.join(", "));
  };
  for (const each of [from, to]) each.addEventListener("input", write);
  return { element: h("div", { className: "means" }, "Mean from", from, "to", to, "s", told), write };
}

/** The mean of a column after a time and up to another; null if there is none. */
export function meanOf(rows: Rows, column: number, from: number, to: number): number | null {
  const values = rows.column(column).subarray(rows.rowAfter(from), rows.rowAfter(to)).filter((value) => !Number.isNaN(value));
  return values.length ? values.reduce((sum, value) => sum + value, 0) / values.length : null;
}
