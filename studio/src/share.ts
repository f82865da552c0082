// The whole state in the fragment of the address: what is open, what was changed by hand, what is in sight.

import type { Model } from "./model";
import type { Change, Opening } from "./protocol";

/** What is in sight, without the run. */
export interface Sight {
  quantities: string[];
  link: string;
  together: boolean;
  window: number | null;
}

interface Shared extends Sight {
  opening: Opening;
  changes: (Change & { lane: number | null })[];
  now: number;
}

const KEY = "#s=";
/** Bytes of the state; the server takes no longer messages. */
const LARGEST = 1 << 20;

/** Reads a value that anybody may have written; a TypeError where it is of another kind. */
type Read<T> = (value: unknown) => T;

const kind = <T>(name: string): Read<T> => (value) => {
  if (typeof value !== name || (name === "number" && !Number.isFinite(value))) throw new TypeError(`expected a ${name}`);
  return value as T;
};
const [text, number, flag] = [kind<string>("string"), kind<number>("number"), kind<boolean>("boolean")];
const orNull = <T>(read: Read<T>): Read<T | null> => (value) => (value === null ? null : read(value));
const or = <T>(read: Read<T>, usual: T): Read<T> => (value) => (value === undefined ? usual : read(value));
const maybe = <T>(read: Read<T>): Read<T | undefined> => or<T | undefined>(read, undefined);

const list = <T>(read: Read<T>): Read<T[]> => (value) => {
  if (!Array.isArray(value)) throw new TypeError("expected a list");
  return value.map((each) => read(each));
};

const pair: Read<[string, number]> = (value) => {
  if (!Array.isArray(value) || value.length !== 2) throw new TypeError("expected a pair");
  return [text(value[0]), number(value[1])];
};

/** Fields of an object, and no others. */
const fields = <T>(reads: { [K in keyof T]-?: Read<T[K]> }): Read<T> => (value) => {
  const given = Object(value) as Record<string, unknown>;
  const found = Object.entries<Read<unknown>>(reads).map(([name, read]) => [name, read(given[name])]);
  return Object.fromEntries(found.filter(([, each]) => each !== undefined)) as T;
};

const readState = fields<Shared>({
  opening: fields<Opening>({
    scenario: maybe(text), text: maybe(text), name: maybe(text), aqms: list(orNull(text)), seed: maybe(number), sample: maybe(number),
    flows: maybe(list(pair)), blast: maybe(orNull(text)),
  }),
  changes: list(fields<Shared["changes"][number]>({ at: number, path: text, value: text, lane: or(orNull(number), null) })),
  now: number,
  quantities: list(text),
  link: or(text, ""),
  together: or(flag, false),
  window: or(orNull(number), null),
});

/** The address at which a colleague sees the same. */
export async function address(model: Model, sight: Sight): Promise<string> {
  const shared: Shared = { ...sight, opening: model.opening, changes: model.changes(), now: model.now };
  const bytes = new Uint8Array(await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(JSON.stringify(shared))));
  const base64 = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  const packed = base64.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  return `${location.origin}${location.pathname}${KEY}${packed}`;
}

/** What an address holds; null if it holds nothing of this kind. An error where it cannot be read. */
export async function shared(fragment: string): Promise<Shared | null> {
  if (!fragment.startsWith(KEY)) return null;
  try {
    const packed = atob(fragment.slice(KEY.length).replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(packed, (letter) => letter.charCodeAt(0));
    return readState(JSON.parse(new TextDecoder().decode(await through(new DecompressionStream("deflate-raw"), bytes))));
  } catch (error) {
    const why = error instanceof RangeError ? error.message : "it is cut off, or not a link of the studio";
    throw new Error(`This link cannot be read: ${why}. Nothing of it was opened.`);
  }
}

/** The part of a pasted link that holds the state, wherever the link leads. */
export function fragmentOf(link: string): string {
  const at = link.indexOf(KEY);
  if (at < 0) throw new Error(`expected a link made by a studio, with ${KEY} in it`);
  return link.slice(at).trim();
}

/** Do again what was done by hand, as fast as it goes, and stop where it was. */
export async function repeat(model: Model, { opening, changes, now }: Shared): Promise<void> {
  const { speed } = model;
  await model.open(opening);
  await model.setSpeed(null);
  try {
    for (const { at, path, value, lane } of changes) {
      if (!(await model.until(at))) return;
      await model.set(path, value, lane);
    }
    await model.until(now);
  } finally {
    await model.setSpeed(speed);
  }
}

async function through(stream: CompressionStream | DecompressionStream, bytes: Uint8Array<ArrayBuffer>): Promise<ArrayBuffer> {
  let size = 0;
  const bound = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform(chunk, to) {
      size += chunk.length;
      if (size > LARGEST) to.terminate();
      else to.enqueue(chunk);
    },
  });
  const found = await new Response(new Blob([bytes]).stream().pipeThrough(stream).pipeThrough(bound)).arrayBuffer();
  if (size > LARGEST) throw new RangeError(`it holds more than ${LARGEST >> 20} MiB`);
  return found;
}
