// The curves of a run: columns of numbers that grow in place.

import type { Frame } from "./protocol";

/** Rows after which four become two, the least and the greatest: memory stays flat however long a run is. */
const MOST = 16_384;

export class Rows {
  length = 0;
  /** Column 0 is time. */
  private columns: Float32Array[] = [];

  constructor(count: number, private capacity = 4096) {
    for (let i = 0; i < count; i++) this.columns.push(new Float32Array(capacity));
  }

  get time(): Float32Array {
    return this.columns[0]!;
  }

  column(i: number): Float32Array {
    return this.columns[i]!;
  }

  append(frame: Frame): void {
    if (this.length + frame.rows > this.capacity) this.makeRoom(frame.rows);
    for (let i = 0; i < frame.columns; i++) {
      this.columns[i]!.set(frame.values.subarray(i * frame.rows, (i + 1) * frame.rows), this.length);
    }
    this.length += frame.rows;
  }

  /** Forget what came after a time. */
  cut(time: number): void {
    this.length = this.rowAfter(time);
  }

  /** The first row after a time. */
  rowAfter(time: number): number {
    let [low, high] = [0, this.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.time[middle]! <= time * (1 + 1e-6) + 1e-9) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The same rows with other columns: each new one is an old one, or nothing so far. */
  arranged(from: (number | null)[]): Rows {
    const next = new Rows(0, this.capacity);
    next.length = this.length;
    next.columns = from.map((old) => (old === null ? new Float32Array(this.capacity).fill(NaN) : this.columns[old]!));
    return next;
  }

  copy(): Rows {
    const other = new Rows(0, this.capacity);
    other.length = this.length;
    other.columns = this.columns.map((column) => column.slice());
    return other;
  }

  private makeRoom(more: number): void {
    while (this.length > MOST / 2 && this.length + more > MOST) this.halve();
    while (this.length + more > this.capacity) this.capacity *= 2;
    if (this.capacity === this.columns[0]!.length) return;
    this.columns = this.columns.map((column) => {
      const wider = new Float32Array(this.capacity);
      wider.set(column.subarray(0, this.length));
      return wider;
    });
  }

  private halve(): void {
    const groups = this.length >> 2;
    for (const [i, column] of this.columns.entries()) {
      for (let group = 0; group < groups; group++) {
        if (i === 0) [column[2 * group], column[2 * group + 1]] = [column[4 * group]!, column[4 * group + 2]!];
        else extremes(column, 4 * group, 2 * group);
      }
      column.copyWithin(2 * groups, 4 * groups, this.length);
    }
    this.length -= 2 * groups;
  }
}

/** Write the least and the greatest of four numbers from `from` on to `to`, in the order in which they came. */
function extremes(column: Float32Array, from: number, to: number): void {
  let [least, most] = [from, from];
  for (let i = from; i < from + 4; i++) {
    if (!(column[i]! >= column[least]!)) least = Number.isNaN(column[i]!) ? least : i;
    if (!(column[i]! <= column[most]!)) most = Number.isNaN(column[i]!) ? most : i;
  }
  const [first, second] = [column[Math.min(least, most)]!, column[Math.max(least, most)]!];
  column[to] = first;
  column[to + 1] = second;
}
