// Values that no page has written, from a fixed seed: as many cases as AQMLAB_FUZZ says (`make fuzz`), else 300.

export const CASES = Number(process.env.AQMLAB_FUZZ ?? 300);
/** Of links, each of which is packed and unpacked. */
export const LINKS = Math.max(300, Math.round(CASES / 20));

const ODD: unknown[] = [
  null, true, false, -1, 0, 2, 99, 1e308, 1e-9, "", "x", "../x", "open", "unmark", "__proto__", "\0", "<b>", "é".repeat(300), [], [[]], {}, { a: 1 },
  [null, null], "1e5", "flows.bulk.count", "links.uplink.aqm", ["bulk", 0],
];
const NAMES = ["type", "id", "message", "lane", "text", "aqms", "flows", "seed", "sample", "blast", "until", "speed", "__proto__", "x", ""];

/** Random numbers from 0 to below 1 (mulberry32). */
export function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export class Draw {
  constructor(readonly next: () => number) {}

  below(most: number): number {
    return Math.floor(this.next() * most);
  }

  of<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)]!;
  }

  /** A JSON value with one place somewhere in it made odd, left out, or beside another field. */
  odd(value: unknown): unknown {
    if (typeof value !== "object" || value === null || this.next() < 0.1) return this.of(ODD);
    if (Array.isArray(value)) {
      if (!value.length) return [this.of(ODD)];
      const at = this.below(value.length);
      return value.map((each, i) => (i === at ? this.odd(each) : each));
    }
    if (this.next() < 0.3) return { ...value, [this.of(NAMES)]: this.of(ODD) };
    const name = this.of(Object.keys(value));
    const { [name as keyof typeof value]: old, ...others } = value;
    return this.next() < 0.1 ? others : { ...value, [name]: this.odd(old) };
  }

  /** A text with a few characters changed, left out or cut off. */
  broken(text: string): string {
    const at = this.below(text.length);
    const other = String.fromCharCode(32 + this.below(95));
    return this.of([text.slice(0, at), text.slice(0, at) + other + text.slice(at + 1), text.slice(0, at) + text.slice(at + 1)]);
  }
}
