// How far axes reach: they grow with the curves by round steps and do not shrink.

import type { Axes } from "./panel";
import type { Opened } from "./protocol";
import type { Part } from "./quantities";
import type { Rows } from "./rows";
import { roundUp } from "./scale";

/** The time in sight: the last `window` seconds, or the whole run so far with room to grow. */
export function timeAxis({ end, sample }: Pick<Opened, "end" | "sample">, now: number, window: number | null): [number, number] {
  if (window === null) return [0, Math.min(end, roundUp(Math.max(now, sample * 10, end / 100)))];
  const to = Math.max(now, window);
  return [to - window, to];
}

/** Let an axis of values hold all from `low` to `high`; true if it has moved. */
export function widen(axes: Axes, low: number, high: number): boolean {
  const from = low < 0 ? -roundUp(-low) : 0;
  if (high <= 0 && from === 0) return false;
  const { y } = axes;
  const to = Math.max(roundUp(high), axes.settled ? y[1] : 0);
  const moved = y[0] > from || y[1] !== to;
  [y[0], y[1], axes.settled] = [Math.min(from, y[0]), to, true];
  return moved;
}

/** The least and the greatest value of each curve so far, and 0; only new rows are looked at. */
export class Extents {
  private known = new Map<string, { low: number; high: number; scanned: number }>();

  clear(): void {
    this.known.clear();
  }

  of(rows: Rows, parts: readonly Pick<Part, "key" | "column">[], scale: number): { low: number; high: number } {
    let [low, high] = [0, 0];
    for (const { key, column } of parts) {
      let known = this.known.get(key);
      if (!known || known.scanned > rows.length) this.known.set(key, (known = { low: 0, high: 0, scanned: 0 }));
      const values = rows.column(column);
      for (; known.scanned < rows.length; known.scanned++) {
        const value = values[known.scanned]! * scale;
        if (value > known.high) known.high = value;
        if (value < known.low) known.low = value;
      }
      [low, high] = [Math.min(low, known.low), Math.max(high, known.high)];
    }
    return { low, high };
  }
}

/** At most `count` of `length` rows, evenly spread; the last is among them. */
export function spread(count: number, length: number): number[] {
  const chosen = Math.min(count, length);
  return Array.from({ length: chosen }, (_, i) => Math.round(((i + 1) * length) / chosen) - 1);
}
