// Folders of results: progress, tables and pictures that follow a running sweep.

import { backend } from "#backend";
import { byId, h } from "./dom";
import { get } from "./session";

interface Table {
  title: string;
  columns: string[];
  rows: string[][];
  notes: string[];
}

interface Folder {
  id: number;
  name: string;
  title: string;
  /** What has come out, if it is not a number of runs. */
  told?: string;
  done: number;
  planned: number | null;
  failed: number;
  tables: Table[];
  figures: { name: string; title: string }[];
  version: string;
}

const AGAIN = 2000;

export class Results {
  private host = byId("view-results");
  private body = h("div");
  private choice = h("select", { id: "folder" });
  private version = "";
  private timer = 0;

  constructor() {
    this.choice.onchange = () => this.follow();
    const label = h("label", { className: "label", htmlFor: "folder" }, "Folder");
    this.host.append(h("h2", {}, "Results"), h("div", { className: "field" }, label, this.choice), this.body);
  }

  /** Show the folders, and follow the one that is chosen. */
  async show(): Promise<void> {
    const { folders } = await get<{ folders: { id: number; name: string }[] }>("results");
    this.choice.replaceChildren(...folders.map(({ id, name }) => h("option", { value: String(id) }, name)));
    this.choice.parentElement!.hidden = folders.length === 0;
    if (folders.length) return this.follow();
    const how = h("code", {}, "aqmlab studio --results FOLDER");
    this.body.replaceChildren(h("p", {}, "No folder is open. Start with ", how, " to watch a sweep, or to read the results of a sweep or a reproduction."));
  }

  /** Ask no more. */
  leave(): void {
    clearTimeout(this.timer);
  }

  private follow(): void {
    clearTimeout(this.timer);
    this.version = "";
    this.body.replaceChildren(h("p", { className: "soft", role: "status" }, "Reading the folder…"));
    void this.refresh();
  }

  private async refresh(): Promise<void> {
    const answer = await backend.fetch(`results/${this.choice.value}?since=${encodeURIComponent(this.version)}`);
    let running = answer.status === 304;
    if (answer.ok) {
      const folder = (await answer.json()) as Folder;
      this.version = folder.version;
      running = folder.planned === null || folder.done + folder.failed < folder.planned;
      this.draw(folder, this.choice.value);
    } else if (!running) {
      const { error } = (await answer.json().catch(() => ({}))) as { error?: string };
      this.body.replaceChildren(h("p", { className: "problem" }, error ?? answer.statusText));
    }
    if (running) this.timer = window.setTimeout(() => void this.refresh(), AGAIN);
  }

  private draw({ title, done, planned, failed, tables, figures, version, ...more }: Folder, id: string): void {
    const told = more.told ?? `${done} of ${planned ?? "?"} runs${failed ? `, ${failed} failed` : ""}`;
    const progress = h("progress", { max: planned || 1, value: done, "aria-label": told });
    const drawings = figures.map((figure) =>
      h("figure", {}, h("img", { src: `/api/results/${id}/figure/${figure.name}.svg?v=${encodeURIComponent(version)}`, alt: figure.title }), h("figcaption", { className: "soft" }, figure.title)),
    );
    this.body.replaceChildren(h("h3", {}, title), h("p", { className: "row" }, progress, told), ...tables.map(tabled), ...drawings);
  }
}

/** A number, with whatever is behind it, or the sign that there is none. */
const NUMBER = /^(?:[-−+<>]?\d.*|–|)$/;

function tabled({ title, columns, rows, notes }: Table): HTMLElement {
  const kinds = columns.map((_, i) => (rows.every((row) => NUMBER.test(row[i] ?? "")) ? "" : "text"));
  const names = h("tr", {}, ...columns.map((column, i) => h("th", { scope: "col", className: kinds[i] }, column)));
  const lines = rows.map(([first, ...cells]) =>
    h("tr", {}, h("th", { scope: "row" }, first ?? ""), ...cells.map((cell, i) => h("td", { className: kinds[i + 1] }, cell))),
  );
  const table = h("table", {}, h("thead", {}, names), h("tbody", {}, ...lines));
  const below = notes.map((note) => h("p", { className: "soft" }, note));
  return h("section", {}, h("h3", {}, title), h("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": title }, table), ...below);
}
