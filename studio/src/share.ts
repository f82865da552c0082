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

/** The address at which a colleague sees the same. */
export async function address(model: Model, sight: Sight): Promise<string> {
  const shared: Shared = { ...sight, opening: model.opening, changes: model.changes(), now: model.now };
  const bytes = new Uint8Array(await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(JSON.stringify(shared))));
  const text = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  const packed = text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  return `${location.origin}${location.pathname}${KEY}${packed}`;
}

/** What an address holds; null if it holds nothing of this kind. An error where it cannot be read. */
export async function shared(fragment: string): Promise<Shared | null> {
  if (!fragment.startsWith(KEY)) return null;
  try {
    const text = atob(fragment.slice(KEY.length).replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
    const found = JSON.parse(new TextDecoder().decode(await through(new DecompressionStream("deflate-raw"), bytes))) as Shared;
    if (Array.isArray(found.opening?.aqms) && Array.isArray(found.changes) && Array.isArray(found.quantities)) return found;
  } catch (error) {
    if (error instanceof RangeError) throw new Error(`This link cannot be read: ${error.message}. Nothing of it was opened.`);
  }
  throw new Error("This link cannot be read: it is cut off, or not a link of the studio. Nothing of it was opened.");
}

/** The part of a pasted link that holds the state, wherever the link leads. */
export function fragmentOf(link: string): string {
  const at = link.indexOf(KEY);
  if (at < 0) throw new Error(`expected a link that a studio made, with ${KEY} in it`);
  return link.slice(at).trim();
}

/** Do again what was done by hand, as fast as it goes, and stop where it was. */
export async function repeat(model: Model, { opening, changes, now }: Shared): Promise<void> {
  const { speed } = model;
  await model.open(opening);
  await model.setSpeed(null);
  for (const { at, path, value, lane } of changes) {
    if (!(await model.until(at))) return;
    await model.set(path, value, lane);
  }
  await model.until(now);
  await model.setSpeed(speed);
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
