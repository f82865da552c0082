// Elements made in one expression. Nothing here parses HTML, so no text can become markup.

type Child = Node | string | null | undefined | false;
type Properties = Record<string, unknown>;

/** Make an element; a property that the element has is set, any other is an attribute. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties: Properties = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined || value === false) continue;
    if (key in element) (element as unknown as Properties)[key] = value;
    else element.setAttribute(key, String(value));
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** The element of the page with this id. */
export function byId<T extends HTMLElement = HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no #${id}`);
  return found as T;
}

/** Set a text only when it changes, so that the browser lays nothing out in vain. */
export function setText(node: Node, text: string): void {
  if (node.textContent !== text) node.textContent = text;
}

/** Do something once calls have paused for so many milliseconds. */
export function debounce<A extends unknown[]>(wait: number, act: (...given: A) => void): (...given: A) => void {
  let timer = 0;
  return (...given) => {
    clearTimeout(timer);
    timer = window.setTimeout(() => act(...given), wait);
  };
}

/** Give a file to the user. */
export function download(name: string, content: BlobPart, type: string): void {
  const url = URL.createObjectURL(new Blob([content], { type }));
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
