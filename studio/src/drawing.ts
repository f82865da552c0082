// The scenario as a drawing: senders on the left, a lane for each scheme, queues that fill with packets by group.

import { h, setText } from "./dom";
import type { Model } from "./model";
import { groupColour, theme } from "./palette";
import type { Group, Link, Opened } from "./protocol";
import { short } from "./scale";

const [LANE, TOP, LEFT, CELL, GAP] = [58, 0, 150, 9, 2];
const MOST_CELLS = 60;
const FONT = "system-ui, 'Segoe UI', sans-serif";

/** What a lane has room for: the queues of its links, in blocks. */
interface Tank {
  link: Link;
  left: number;
  cells: number;
  /** Packets of a block. */
  block: number;
}

export class Drawing {
  private canvas = h("canvas", { role: "img" });
  private title = h("h2", { className: "title" });
  private note = h("li", {});
  private legend = h("ul", { className: "legend" });
  private tanks: Tank[] = [];
  /** Those with flows now, with their place among all. */
  private groups: { group: Group; i: number }[] = [];
  private width = 0;
  private asked = false;
  private still = matchMedia("(prefers-reduced-motion: reduce)");

  constructor(private host: HTMLElement, private model: Model, private place: () => string, private targetAt: (lane: number, link: string) => number | null) {
    this.host.append(h("div", { className: "head" }, this.title), this.canvas, this.legend);
    new ResizeObserver(() => this.resize()).observe(host);
  }

  /** Take up the scenario of the run. */
  show(): void {
    const run = this.model.run!;
    setText(this.title, run.title);
    const shown = inSight(run, this.place()).map(({ name }) => name);
    this.groups = run.groups
      .map((group, i) => ({ group: { ...group, count: this.model.count(group.name) }, i }))
      .filter(({ group }) => group.count > 0 && group.path.some((link) => shown.includes(link)));
    const items = this.groups.map(({ group, i }) => item(groupColour(i), `${group.name}: ${describe(group)}`));
    this.legend.replaceChildren(...items, this.note);
    this.canvas.setAttribute("aria-label", words(run));
    this.resize(true);
  }

  /** Draw in the next frame. */
  invalidate(): void {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => {
      this.asked = false;
      if (this.model.run) this.paint(this.model.run);
    });
  }

  private resize(always = false): void {
    const run = this.model.run;
    const width = this.host.clientWidth;
    if (!run || !width || (width === this.width && !always)) return;
    this.width = width;
    this.tanks = tanks(inSight(run, this.place()), width, this.left());
    const height = this.heightOf(run);
    this.canvas.style.height = `${height}px`;
    this.canvas.width = Math.round(width * devicePixelRatio);
    this.canvas.height = Math.round(height * devicePixelRatio);
    const blocks = this.tanks.map(({ link, block }) => `${block} at ${link.name}`).join(", ");
    setText(this.note, `Packets per block: ${blocks}`);
    this.invalidate();
  }

  private heightOf(run: Opened): number {
    return TOP + Math.max(run.lanes.length * LANE, this.groups.length * 26 + 20);
  }

  /** Narrow pages have no room for the senders beside the lanes. */
  private left(): number {
    return this.width < 520 ? 8 : LEFT;
  }

  private paint(run: Opened): void {
    const context = this.canvas.getContext("2d")!;
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    context.clearRect(0, 0, this.width, this.heightOf(run));
    context.textBaseline = "middle";
    if (this.left() === LEFT) this.senders(context, run);
    for (let lane = 0; lane < run.lanes.length; lane++) this.lane(context, run, lane);
  }

  private senders(context: CanvasRenderingContext2D, run: Opened): void {
    const height = this.heightOf(run) - TOP;
    const trunk = LEFT - 22;
    for (const [turn, { group, i }] of this.groups.entries()) {
      const y = TOP + ((turn + 0.5) * height) / this.groups.length;
      const colour = groupColour(i);
      context.fillStyle = colour;
      context.beginPath();
      context.arc(9, y, 6, 0, 2 * Math.PI);
      context.fill();
      context.strokeStyle = colour;
      context.lineWidth = 1.5;
      for (let lane = 0; lane < run.lanes.length; lane++) {
        const to = this.middle(lane);
        context.globalAlpha = run.lanes.length > 1 ? 0.45 : 0.8;
        context.beginPath();
        context.moveTo(92, y);
        context.bezierCurveTo(trunk, y, trunk - 10, to, LEFT, to);
        context.stroke();
      }
      context.globalAlpha = 1;
      context.fillStyle = theme.ink;
      context.font = `600 12px ${FONT}`;
      context.fillText(group.name, 20, y - 7, 72);
      context.font = `12px ${FONT}`;
      context.fillStyle = theme.soft;
      context.fillText(`${group.count} ${group.law ?? group.kind}`, 20, y + 8, 72);
    }
  }

  private middle(lane: number): number {
    return TOP + (lane + 0.5) * LANE + 7;
  }

  private lane(context: CanvasRenderingContext2D, run: Opened, lane: number): void {
    arrow(context, this.left(), this.width - 14, this.middle(lane));
    for (const tank of this.tanks) this.tank(context, run, lane, tank, this.middle(lane));
  }

  private tank(context: CanvasRenderingContext2D, run: Opened, lane: number, tank: Tank, y: number): void {
    const width = tank.cells * (CELL + GAP) + GAP;
    const top = y - 11;
    context.fillStyle = theme.band;
    context.strokeStyle = theme.soft;
    context.lineWidth = 1;
    context.beginPath();
    context.rect(tank.left + 0.5, top + 0.5, width, 22);
    context.fill();
    context.stroke();
    const waiting = this.cells(context, run, lane, tank, top);
    this.target(context, lane, tank, top, width);
    this.server(context, tank.left + width, y, waiting > 0);
    context.fillStyle = theme.ink;
    context.font = `600 12px ${FONT}`;
    const { label } = run.lanes[lane]!;
    context.fillText(this.tanks.length > 1 ? `${label} · ${tank.link.name}` : label, tank.left, top - 8, width - 70);
    context.font = `12px ${FONT}`;
    context.fillStyle = theme.soft;
    context.textAlign = "right";
    context.fillText(`${Math.round(waiting)} waiting`, tank.left + width, top - 8);
    context.textAlign = "left";
  }

  /** Blocks from the exit on, the groups mixed as evenly as they wait. */
  private cells(context: CanvasRenderingContext2D, run: Opened, lane: number, tank: Tank, top: number): number {
    const { content } = this.model;
    const groups = run.content.groups.length;
    const place = run.content.links.indexOf(tank.link.name);
    const from = (lane * run.content.links.length + place) * groups;
    let waiting = 0;
    for (let group = 0; group < groups; group++) waiting += content[from + group] ?? 0;
    const filled = Math.min(tank.cells, Math.ceil(waiting / tank.block));
    for (let cell = 0; cell < filled; cell++) {
      const packet = ((cell * GOLDEN) % 1) * waiting;
      let [group, sum] = [0, content[from] ?? 0];
      while (sum <= packet && group < groups - 1) sum += content[from + ++group] ?? 0;
      context.fillStyle = groupColour(run.groups.findIndex((each) => each.name === run.content.groups[group]));
      const x = tank.left + GAP + 0.5 + (tank.cells - 1 - cell) * (CELL + GAP);
      context.fillRect(x, top + 3, CELL, 17);
    }
    return waiting;
  }

  private target(context: CanvasRenderingContext2D, lane: number, tank: Tank, top: number, width: number): void {
    const target = this.targetAt(lane, tank.link.name);
    const share = (target ?? 0) / (tank.block * tank.cells);
    if (target === null || share <= 0 || share > 1) return;
    const x = tank.left + width - share * (width - GAP);
    context.strokeStyle = theme.target;
    context.lineWidth = 1.5;
    context.setLineDash([4, 3]);
    context.beginPath();
    context.moveTo(x, top - 1);
    context.lineTo(x, top + 24);
    context.stroke();
    context.setLineDash([]);
  }

  /** The transmitter: a circle, with what it sends on its way. */
  private server(context: CanvasRenderingContext2D, x: number, y: number, busy: boolean): void {
    context.fillStyle = theme.paper;
    context.strokeStyle = theme.ink;
    context.lineWidth = 1.5;
    context.beginPath();
    context.arc(x + 12, y, 10, 0, 2 * Math.PI);
    context.fill();
    context.stroke();
    if (!busy) return;
    context.fillStyle = theme.ink;
    const turn = this.model.playing && !this.still.matches ? (performance.now() / 700) % 1 : 0;
    context.beginPath();
    context.moveTo(x + 12, y);
    context.arc(x + 12, y, 7, 2 * Math.PI * turn, 2 * Math.PI * (turn + 0.3));
    context.fill();
  }
}

function arrow(context: CanvasRenderingContext2D, from: number, to: number, y: number): void {
  context.strokeStyle = theme.soft;
  context.lineWidth = 1.5;
  context.beginPath();
  context.moveTo(from, y);
  context.lineTo(to, y);
  context.moveTo(to - 6, y - 4);
  context.lineTo(to, y);
  context.lineTo(to - 6, y + 4);
  context.stroke();
}

/** Multiples of the golden section spread evenly whatever their number. */
const GOLDEN = 0.618033988749895;

/** The links that packets cross one after the other; where some are beside each other, the one chosen. */
export function inSight(run: Opened, place: string): Link[] {
  const used = run.links.filter((link) => run.groups.some((group) => group.path.includes(link.name)));
  const chosen = new Map(used.toReversed().map((link) => [link.x, link]));
  for (const link of used) if (link.name === place) chosen.set(link.x, link);
  return [...chosen.values()].sort((a, b) => a.x - b.x);
}

/** Where the queue of each link stands, and what a block of it is. */
export function tanks(used: Link[], width: number, left: number): Tank[] {
  const columns = [...new Set(used.map((link) => link.x))].sort((a, b) => a - b);
  const room = (width - left - 24) / Math.max(1, columns.length);
  const perLink = Math.max(4, Math.min(MOST_CELLS, Math.floor((room - 46) / (CELL + GAP))));
  return used.map((link) => {
    const cells = Math.max(1, Math.min(perLink, Math.ceil(link.packets)));
    const block = Math.max(1, Math.ceil(link.packets / cells));
    return { link, left: left + 10 + columns.indexOf(link.x) * room, cells, block };
  });
}

function item(colour: string, text: string): HTMLElement {
  const swatch = h("i", { className: "swatch" });
  swatch.style.background = colour;
  return h("li", {}, swatch, text);
}

function describe(group: Group): string {
  const what = group.law ? `${group.count} ${group.count === 1 ? "flow" : "flows"}, ${group.law}` : `${group.count} × ${group.kind}`;
  return group.rtt_text ? `${what}, RTT ${group.rtt_text}` : what;
}

function words(run: Opened): string {
  const groups = run.groups.map((group) => `${group.name} (${describe(group)}) over ${group.path.join(", ")}`);
  const links = run.links.map((link) => `${link.name}: ${link.rate_text}, room for ${short(link.packets)} packets`);
  return `${run.title}. Links: ${links.join("; ")}. Flows: ${groups.join("; ")}. Schemes: ${run.lanes.map((lane) => lane.label).join(", ")}.`;
}
