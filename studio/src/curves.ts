// The curves: for each quantity chosen a panel a scheme, or one panel for all. Axes are shared, cursors in step.

import { Extents, spread, timeAxis, widen } from "./axes";
import { byId, h, setText } from "./dom";
import { meansOf } from "./means";
import type { Model } from "./model";
import type { Change } from "./protocol";
import { Panel, type Axes, type Level, type Line } from "./panel";
import { schemeColour, schemeDash } from "./palette";
import type { Part, Quantity } from "./quantities";
import { seconds, short } from "./scale";

/** ms of drawing in a frame; what is not drawn within them is drawn in the next one, in turn. */
const BUDGET = 5;

interface Drawn {
  quantity: Quantity;
  host: HTMLElement;
  value: HTMLElement;
  panel: Panel;
  parts: Part[];
  lane: number | null;
  axes: Axes;
  scratch: Float32Array[];
  visible: boolean;
  dirty: boolean;
}

/** Lines across the panels of a quantity, in its unit: published values, what a lesson points at. */
type Levels = (lane: number | null, quantity: Quantity) => Level[];

export class Curves {
  /** Seconds shown, up to now; null for the whole run. */
  window: number | null = null;
  levels: Levels = () => [];
  /** Told when the time axis spans something else. */
  spans: (seconds: number) => void = () => {};
  private drawn: Drawn[] = [];
  private extents = new Extents();
  private x: [number, number] = [0, 1];
  private span = 0;
  private turn = 0;
  private asked = false;
  private pointed: number | null = null;
  private read = 0;
  private seen = new IntersectionObserver((entries) => this.look(entries), { rootMargin: "100px" });
  private sized = new ResizeObserver(() => this.resize());
  private changes: Panel["changes"] = [];
  /** Write the means again that are asked for. */
  private means: (() => void)[] = [];

  constructor(private host: HTMLElement, private model: Model) {
    this.sized.observe(host);
    host.addEventListener("keydown", (event) => this.move(event));
  }

  /** Build the panels of these quantities. */
  show(chosen: Quantity[], together: boolean): void {
    for (const { panel, host } of this.drawn) {
      this.seen.unobserve(host);
      panel.plot.destroy();
    }
    [this.drawn, this.means] = [[], []];
    this.span = 0;
    const run = this.model.run!;
    const lanes = run.lanes.map((_, lane) => lane);
    const single = together || lanes.length === 1;
    this.host.classList.toggle("single", single);
    this.host.style.setProperty("--least", lanes.length > 3 ? "13rem" : "16rem");
    const sections = chosen.map((quantity) => {
      const panels = h("div", { className: "panels" });
      const unit = quantity.unit ? ` (${quantity.unit})` : "";
      const title = h("h3", { title: quantity.doc }, quantity.title, h("small", {}, unit));
      const label = `${quantity.title}${unit}. Left and right arrow keys move the cursor.`;
      const section = h("section", { className: "quantity", tabIndex: 0, role: "group", "aria-label": label }, title, panels, this.table(quantity));
      return { quantity, panels, section };
    });
    this.host.replaceChildren(...sections.map(({ section }) => section));
    const adding = sections.flatMap(({ quantity, panels }) => {
      const axes: Axes = { x: this.x, y: [0, 1], settled: false };
      return (together ? [null] : lanes).map((lane) => this.add(quantity, panels, lane, axes));
    });
    for (const draw of adding) draw();
    this.refresh();
  }

  /** Draw everything again: other rows, another theme, other changes. */
  refresh(): void {
    this.extents.clear();
    const run = this.model.run;
    this.changes = run ? wordsOf(run.lanes.flatMap(({ changes }) => changes)) : [];
    for (const each of this.drawn) {
      each.panel.levels = [...this.targetOf(each), ...this.levels(each.lane, each.quantity)];
      each.panel.changes = this.changes;
      each.panel.ghosts = this.ghosts(each);
    }
    this.invalidate();
  }

  invalidate(): void {
    for (const each of this.drawn) each.dirty = true;
    if (this.asked || !this.model.run) return;
    this.asked = true;
    requestAnimationFrame(() => this.paint());
  }

  /** What each panel draws, for pictures to be saved. */
  canvases(): { title: string; canvas: HTMLCanvasElement }[] {
    return this.drawn.map((each) => ({ title: this.titleOf(each), canvas: each.panel.plot.ctx.canvas }));
  }

  panels(): readonly Drawn[] {
    return this.drawn;
  }

  titleOf({ quantity, lane }: Pick<Drawn, "quantity" | "lane">): string {
    const unit = quantity.unit ? ` (${quantity.unit})` : "";
    return `${lane === null ? "" : `${this.model.run!.lanes[lane]!.label} · `}${quantity.title}${unit}`;
  }

  /** Put a panel on the page; what is returned draws it once all have found their place. */
  private add(quantity: Quantity, host: HTMLElement, lane: number | null, axes: Axes): () => void {
    const run = this.model.run!;
    const parts = lane === null ? run.lanes.flatMap((_, i) => quantity.parts(i)) : quantity.parts(lane);
    const plot = h("div", { className: "plot" });
    const value = h("span");
    const title = lane === null ? "" : run.lanes[lane]!.label;
    const none = parts.length ? "" : " none";
    const head = lane === null ? null : h("p", {}, h("span", { title }, title), value);
    const panel = h("div", { className: `panel${none}` }, head, plot);
    host.append(panel);
    if (!parts.length) {
      plot.append(`no ${quantity.title.replace("State: ", "")} here`);
      return () => {};
    }
    const lines = this.lines(quantity, parts, lane);
    if (parts.length > 1) panel.append(legend(lines));
    return () => {
      this.drawn.push({
        quantity, host: plot, value, parts, lane, axes, visible: false, dirty: true,
        panel: new Panel(plot, lines, axes, (index) => this.point(index)),
        scratch: quantity.scale === 1 ? [] : parts.map(() => new Float32Array(0)),
      });
      this.seen.observe(plot);
    };
  }

  private lines(quantity: Quantity, parts: Part[], lane: number | null): Line[] {
    if (lane !== null) return parts.map(({ name, colour }) => ({ name, colour }));
    return this.model.run!.lanes.flatMap((each, i) =>
      quantity.parts(i).map(({ name }, turn, all) => ({
        name: all.length > 1 ? `${each.label}: ${name}` : each.label,
        colour: () => schemeColour(i),
        dash: all.length > 1 ? schemeDash(turn) : schemeDash(i),
      })),
    );
  }

  private targetOf({ quantity, lane }: Drawn): Level[] {
    const lanes = lane === null ? this.model.run!.lanes.map((_, i) => i) : [lane];
    const targets = new Set(lanes.map((each) => quantity.target(each)));
    const [value] = targets;
    return targets.size === 1 && typeof value === "number" ? [{ value, label: "target" }] : [];
  }

  /** The way taken before a rewind. */
  private ghosts({ quantity, parts }: Drawn): Panel["ghosts"] {
    const { earlier } = this.model;
    if (!earlier) return [];
    const x = earlier.rows.time.subarray(earlier.from, earlier.rows.length);
    return parts.flatMap(({ key }) => {
      const column = earlier.columns.get(key);
      if (column === undefined) return [];
      return [{ x, y: earlier.rows.column(column).subarray(earlier.from, x.length + earlier.from).map((value) => value * quantity.scale) }];
    });
  }

  private paint(): void {
    this.asked = false;
    const began = performance.now();
    const moved = this.range();
    const { rows } = this.model;
    for (let i = 0; i < this.drawn.length; i++) {
      const each = this.drawn[this.turn++ % this.drawn.length]!;
      if (!each.visible || !(each.dirty || moved)) continue;
      this.drawOne(each, rows.length);
      if (performance.now() - began > BUDGET) break;
    }
    this.turn %= Math.max(1, this.drawn.length);
    if (began - this.read > 250) this.readOut(began);
    if (this.drawn.some((each) => each.visible && each.dirty)) {
      this.asked = true;
      requestAnimationFrame(() => this.paint());
    }
  }

  private drawOne(each: Drawn, length: number): void {
    const { rows } = this.model;
    const data = [rows.time.subarray(0, length), ...each.parts.map((part, i) => this.scaled(each, part, i, length))];
    const { plot } = each.panel;
    plot.batch(() => {
      plot.setData(data, false);
      plot.setScale("x", { min: each.axes.x[0], max: each.axes.x[1] });
      plot.setScale("y", { min: each.axes.y[0], max: each.axes.y[1] });
    });
    each.dirty = false;
  }

  /** The values in the unit shown; rows that were scaled before are not scaled again. */
  private scaled(each: Drawn, part: Part, i: number, length: number): Float32Array {
    const column = this.model.rows.column(part.column);
    if (each.quantity.scale === 1) return column.subarray(0, length);
    let scratch = each.scratch[i]!;
    if (scratch.length < column.length) scratch = each.scratch[i] = new Float32Array(column.length);
    for (let row = 0; row < length; row++) scratch[row] = column[row]! * each.quantity.scale;
    return scratch.subarray(0, length);
  }

  /** Let the axes grow with the curves; true if one has. */
  private range(): boolean {
    const before = `${this.x}`;
    [this.x[0], this.x[1]] = timeAxis(this.model.run!, this.model.now, this.window);
    let moved = before !== `${this.x}`;
    if (moved && this.x[1] - this.x[0] !== this.span) this.spans((this.span = this.x[1] - this.x[0]));
    for (const { quantity, parts, panel, axes } of this.drawn) {
      const { low, high } = this.extents.of(this.model.rows, parts, quantity.scale);
      if (widen(axes, low, Math.max(high, ...panel.levels.map(({ value }) => 1.1 * value)))) moved = true;
    }
    if (moved) for (const each of this.drawn) each.dirty = true;
    return moved;
  }

  private point(index: number | null): void {
    if (index === this.pointed) return;
    this.pointed = index;
    this.readOut(performance.now());
  }

  /** Write the value at the cursor, or the latest, beside each title. */
  private readOut(now: number): void {
    this.read = now;
    const { rows } = this.model;
    const row = Math.min(this.pointed ?? rows.length - 1, rows.length - 1);
    if (row < 0) return;
    for (const write of this.means) write();
    const at = this.pointed === null ? "" : ` at ${seconds(rows.time[row]!)}`;
    for (const each of this.drawn) {
      if (!each.visible || each.lane === null) continue;
      const values = each.parts.map((part) => short(rows.column(part.column)[row]! * each.quantity.scale));
      setText(each.value, `${values.join(" · ")}${at}`);
    }
  }

  private move(event: KeyboardEvent): void {
    const direction = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const { rows } = this.model;
    if (!direction || !rows.length || !(event.target as HTMLElement).matches(".quantity")) return;
    event.preventDefault();
    const stride = direction * Math.max(1, Math.round(rows.length / (event.shiftKey ? 10 : 100)));
    const row = Math.max(0, Math.min(rows.length - 1, (this.pointed ?? rows.length - 1) + stride));
    const time = rows.time[row]!;
    for (const { panel } of this.drawn) panel.plot.setCursor({ left: panel.plot.valToPos(time, "x"), top: 10 }, false);
    this.point(row);
    const about = (event.target as HTMLElement).querySelector("h3")?.textContent ?? "";
    const here = this.drawn.filter((each) => each.host.closest(".quantity") === event.target);
    const values = here.map(({ lane, parts, quantity }) =>
      parts.map((part) => `${lane === null ? part.name : this.model.run!.lanes[lane]!.label} ${short(rows.column(part.column)[row]! * quantity.scale)}`).join(", "),
    );
    setText(byId("spoken"), `${about} at ${seconds(time)}: ${values.join(", ")}`);
  }

  /** The curve as a table of twenty rows, made when it is opened, and its mean over any stretch of time. */
  private table(quantity: Quantity): HTMLElement {
    const body = h("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": `${quantity.title} as a table` });
    const { element, write } = meansOf(this.model, quantity, () => this.labelled(quantity));
    const details = h("details", { className: "data" }, h("summary", {}, "Data"), element, body);
    details.addEventListener("toggle", () => details.open && body.replaceChildren(this.rowsOf(quantity)));
    this.means.push(() => details.open && write());
    return details;
  }

  /** The lines of a quantity with what they are called: the scheme, and the part where a scheme has several. */
  private labelled(quantity: Quantity): { part: Part; label: string }[] {
    return this.model.run!.lanes.flatMap((lane, i) =>
      quantity.parts(i).map((part, _, all) => ({ part, label: all.length > 1 ? `${lane.label}: ${part.name}` : lane.label })),
    );
  }

  private rowsOf(quantity: Quantity): HTMLElement {
    const { rows } = this.model;
    const parts = this.labelled(quantity);
    const head = h("tr", {}, h("th", { scope: "col" }, "Time"), ...parts.map(({ label }) => h("th", { scope: "col" }, label)));
    const lines = spread(20, rows.length).map((row) =>
      h("tr", {}, h("th", { scope: "row" }, seconds(rows.time[row]!)), ...parts.map(({ part }) => h("td", {}, short(rows.column(part.column)[row]! * quantity.scale)))),
    );
    const caption = h("caption", { className: "unseen" }, `${quantity.title} ${quantity.unit}`);
    return h("table", {}, caption, h("thead", {}, head), h("tbody", {}, ...lines));
  }

  private look(entries: IntersectionObserverEntry[]): void {
    for (const { target, isIntersecting } of entries) {
      const drawn = this.drawn.find((each) => each.host === target);
      if (drawn) drawn.visible = isIntersecting;
    }
    this.invalidate();
  }

  private resize(): void {
    for (const each of this.drawn) each.panel.fit(each.host);
    this.invalidate();
  }
}

/** Each time at which something was changed, with what: "aqm.w 340 Hz, rate 6 Mbit/s". */
export function wordsOf(changes: Change[]): { at: number; words: string }[] {
  const found = new Map<number, Set<string>>();
  for (const { at, path, value } of changes) {
    if (!found.has(at)) found.set(at, new Set());
    found.get(at)!.add(`${path.replace(/^links\.[^.]+\.|^flows\./, "")} ${value}`);
  }
  return [...found].sort(([a], [b]) => a - b).map(([at, words]) => ({ at, words: [...words].join(", ") }));
}

function legend(lines: Line[]): HTMLElement {
  const entries = lines.map(({ name, colour }) => {
    const swatch = h("i", { className: "swatch stroke" });
    swatch.style.background = colour();
    return h("li", {}, swatch, name);
  });
  return h("ul", { className: "legend" }, ...entries);
}
