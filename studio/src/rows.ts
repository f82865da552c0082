// The curves of a run: columns of numbers that grow in place.

import type { Frame } from "./protocol";

/** Rows from which on they are thinned out: memory stays flat however long a run is. */
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
    if (this.length > MOST / 2 && this.length + more > MOST) this.thin();
    while (this.length + more > this.capacity) this.capacity *= 2;
    if (this.capacity === this.columns[0]!.length) return;
    this.columns = this.columns.map((column) => {
      const wider = new Float32Array(this.capacity);
      wider.set(column.subarray(0, this.length));
      return wider;
    });
  }

  /** Leave two rows of each stretch of time, the least and the greatest values; older rows, thinned before, stay. */
  private thin(): void {
    const starts = this.stretches((this.time[this.length - 1]! - this.time[0]!) / (MOST / 4));
    for (const column of this.columns) {
      let to = 0;
      for (let i = 0; i + 1 < starts.length; i++) to = keep(column, starts[i]!, starts[i + 1]!, to, column === this.time);
    }
    this.length = starts.slice(1).reduce((sum, end, i) => sum + Math.min(2, end - starts[i]!), 0);
  }

  /** Where each stretch of so many seconds begins, and the end of the last. */
  private stretches(width: number): number[] {
    const starts = [0];
    for (let row = 1; row < this.length; row++) {
      if (Math.floor(this.time[row]! / width) !== Math.floor(this.time[row - 1]! / width)) starts.push(row);
    }
    return [...starts, this.length];
  }
}

/** Move two of the rows `from` to `end` to the place `to`: first and last of the time, else the extremes as they came. */
function keep(column: Float32Array, from: number, end: number, to: number, isTime: boolean): number {
  let [first, second] = [from, end - 1];
  if (!isTime && end - from > 2) {
    let [least, most] = [from, from];
    for (let row = from + 1; row < end; row++) {
      if (column[row]! < column[least]! || Number.isNaN(column[least]!)) least = row;
      if (column[row]! > column[most]! || Number.isNaN(column[most]!)) most = row;
    }
    [first, second] = [Math.min(least, most), Math.max(least, most)];
  }
  const [one, other] = [column[first]!, column[second]!];
  column[to] = one;
  if (end - from === 1) return to + 1;
  column[to + 1] = other;
  return to + 2;
}
