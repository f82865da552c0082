// The bar under the header: what went wrong.

import { byId } from "./dom";

/** Say what went wrong, or that nothing does any more. */
export function notice(text: string): void {
  const bar = byId("notice");
  bar.hidden = !text;
  bar.textContent = text;
}

/** Do something that the server may refuse. */
export async function announce(act: () => Promise<unknown>): Promise<void> {
  try {
    await act();
    notice("");
  } catch (error) {
    notice((error as Error).message);
  }
}
