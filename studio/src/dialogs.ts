// What opens above the page: keys, things to save, the link.

import { backend } from "#backend";
import { download, h } from "./dom";
import type { Curves } from "./curves";
import type { Model } from "./model";
import { attempt } from "./form";
import { png, svg } from "./picture";
import type { Exported } from "./protocol";
import { fragmentOf } from "./share";

const KEYS: [string, string][] = [
  ["Space", "play or pause"],
  ["S", "step by one sample"],
  ["+ and −", "faster, slower"],
  ["M", "set a mark"],
  ["R", "rewind to the latest mark"],
  ["E", "save a picture, the numbers, the scenario, a report"],
  ["L", "copy a link to this view"],
  ["← and →", "move the cursor along the focused curves; with Shift faster"],
  ["?", "this list"],
];

export const keysDialog = (): void => show("Keys", h("dl", {}, ...KEYS.flatMap(([key, what]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, what)])));

/** Offer everything that can be saved of a run. */
export function saveDialog(model: Model, curves: Curves): void {
  const lane = h("select", { id: "save-lane" }, ...model.run!.lanes.map(({ label }, i) => h("option", { value: String(i) }, label)));
  const fetched = async (what: string): Promise<void> => {
    const { name, media, text } = await model.session.ask<Exported & { type: "export" }>({ type: "export", what, lane: Number(lane.value) });
    download(name, text, media);
  };
  const entry = (title: string, about: string, act: () => Promise<unknown>) =>
    saving(h("button", { type: "button" }, h("b", {}, title), " ", h("span", { className: "soft" }, about)), act);
  const title = model.run!.title;
  show(
    "Save",
    h("div", { className: "field" }, h("label", { htmlFor: "save-lane" }, "One scheme"), lane),
    h("div", { className: "list" },
      entry("Scenario", "TOML, with manual changes as [[changes]]", () => fetched("toml")),
      entry("Series", "CSV, one row per sample", () => fetched("csv")),
      entry("Result", "JSON, as aqmlab run prints it", () => fetched("json")),
    ),
    h("div", { className: "label" }, "All schemes"),
    h("div", { className: "list" },
      entry("Picture", "PNG of the curves shown", async () => download("curves.png", await png(curves, title), "image/png")),
      entry("Drawing", "SVG of the curves shown", async () => download("curves.svg", svg(curves, model, title), "image/svg+xml")),
      entry("Report", "one page of HTML with tables and figures", () => fetched("report")),
      entry("Command", "the command that repeats the run", async () => {
        const { text } = await model.session.ask<Exported & { type: "export" }>({ type: "export", what: "command" });
        show("Command", h("pre", { tabIndex: 0 }, text));
      }),
    ),
  );
}

/** A button that is busy until its file is there, and says below itself why it cannot be had. */
function saving(button: HTMLButtonElement, act: () => Promise<unknown>): HTMLElement {
  button.onclick = async () => {
    button.disabled = true;
    await attempt(button, act);
    button.disabled = false;
  };
  return h("div", { className: "row" }, button);
}

/** Show the link, already copied where the browser allows it. */
export async function linkDialog(address: string): Promise<void> {
  const copied = await navigator.clipboard.writeText(address).then(() => true, () => false);
  const field = h("input", { readOnly: true, value: address, "aria-label": "Link", onfocus: () => field.select() });
  const told = copied ? "Copied to the clipboard." : "Copy it from here.";
  const about = `It contains the scenario, the schemes, manual changes and the visible curves. ${backend.texts.link} No server receives the part after the #.`;
  const given = h("input", { type: "text", id: "given-link", spellcheck: false, autocomplete: "off" });
  const open = h("button", { type: "button" }, "Open");
  open.onclick = () => void attempt(given, async () => {
    location.hash = fragmentOf(given.value);
    open.closest("dialog")!.close();
  });
  show(
    "Link", h("p", {}, told), field, h("p", { className: "soft" }, about),
    h("div", { className: "field" }, h("label", { htmlFor: given.id }, "Open a link"), given, h("div", { className: "row" }, open)),
  );
}

function show(title: string, ...content: HTMLElement[]): void {
  const close = h("button", { type: "button", onclick: () => dialog.close() }, "Close");
  const dialog = h("dialog", { "aria-label": title, onclose: () => dialog.remove() }, h("h2", {}, title), ...content, close);
  document.body.append(dialog);
  dialog.showModal();
}
