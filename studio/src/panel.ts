// One pair of axes: uPlot with what all panels share. A panel is told what to draw; it knows no scheme.

import uPlot from "uplot";
import { theme } from "./palette";
import { short } from "./scale";

/** How a line looks; `colour` is asked at every drawing, so that it follows the theme. */
export interface Line {
  name: string;
  colour: () => string;
  dash?: number[];
}

/** A line behind the others: the way taken before a rewind. */
interface Ghost {
  x: Float32Array;
  y: Float32Array;
}

/** A value worth a line across: a target, a published mean. */
export interface Level {
  value: number;
  label: string;
  /** Someone else's number, not what a scheme steers to. */
  published?: boolean;
}

/** What all panels of a quantity share. */
export interface Axes {
  x: [number, number];
  y: [number, number];
  /** There was something to fit them to; from then on they only grow. */
  settled: boolean;
}

const FONT = "12px system-ui, 'Segoe UI', sans-serif";
const [MARK, DOTS] = [[7, 4], [2, 3]];

export class Panel {
  readonly plot: uPlot;
  ghosts: Ghost[] = [];
  levels: Level[] = [];
  /** Changes by hand, in order of time, drawn as upright lines with their words where these have room. */
  changes: readonly { at: number; words: string }[] = [];

  constructor(host: HTMLElement, lines: Line[], axes: Axes, pointed: (index: number | null) => void) {
    const series: uPlot.Series[] = lines.map((line) => ({
      label: line.name,
      stroke: line.colour,
      width: 1.5,
      ...(line.dash?.length ? { dash: line.dash } : {}),
      points: { show: false },
    }));
    this.plot = new uPlot(
      {
        width: Math.max(host.clientWidth, 120),
        height: Math.max(host.clientHeight, 80),
        legend: { show: false },
        padding: [8, 18, 0, 0],
        scales: {
          x: { time: false, auto: false, range: () => axes.x },
          y: { auto: false, range: () => axes.y },
        },
        axes: [axis({ space: 50, size: 26, values: (_, ticks) => ticks.map((tick) => `${tick} s`) }), axis({ space: 28, size: 46, values: (_, ticks) => ticks.map(label) })],
        series: [{}, ...series],
        cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 }, sync: { key: "studio", scales: ["x", null] } },
        hooks: {
          drawAxes: [() => this.behind()],
          draw: [() => this.before()],
          setCursor: [(plot) => pointed(plot.cursor.idx ?? null)],
        },
      },
      [new Float64Array(0), ...lines.map(() => new Float64Array(0))],
      host,
    );
  }

  fit(host: HTMLElement): void {
    const [width, height] = [host.clientWidth, host.clientHeight];
    if (width && (width !== this.plot.width || height !== this.plot.height)) this.plot.setSize({ width, height });
  }

  /** Earlier ways, pale, and when something was changed by hand. */
  private behind(): void {
    const { ctx, bbox } = this.plot;
    this.clipped(() => {
      ctx.strokeStyle = theme.soft;
      ctx.globalAlpha = 0.6;
      ctx.beginPath();
      for (const { at } of this.changes) {
        const x = this.plot.valToPos(at, "x", true);
        ctx.moveTo(x, bbox.top);
        ctx.lineTo(x, bbox.top + bbox.height);
      }
      ctx.stroke();
      ctx.globalAlpha = 1;
      this.words();
      ctx.strokeStyle = theme.pale;
      ctx.lineWidth = 1.5 * devicePixelRatio;
      for (const ghost of this.ghosts) this.trace(ghost);
    });
  }

  /** What was changed, at the top beside its line; no words on top of others. */
  private words(): void {
    const { ctx, bbox } = this.plot;
    ctx.font = `${10 * devicePixelRatio}px system-ui, sans-serif`;
    ctx.fillStyle = theme.soft;
    ctx.textAlign = "left";
    let free = bbox.left;
    for (const { at, words } of this.changes) {
      const x = this.plot.valToPos(at, "x", true) + 3 * devicePixelRatio;
      if (x < free) continue;
      ctx.fillText(words, x, bbox.top + 11 * devicePixelRatio);
      free = x + ctx.measureText(words).width;
    }
  }

  private before(): void {
    this.clipped(() => {
      for (const level of this.levels) this.across(level);
    });
  }

  private across({ value, label, published }: Level): void {
    const { ctx, bbox } = this.plot;
    const y = Math.round(this.plot.valToPos(value, "y", true)) + 0.5;
    ctx.strokeStyle = ctx.fillStyle = published ? theme.ink : theme.target;
    ctx.lineWidth = 1.3 * devicePixelRatio;
    ctx.setLineDash((published ? DOTS : MARK).map((length) => length * devicePixelRatio));
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
    ctx.setLineDash([]);
    ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
    ctx.textAlign = published ? "left" : "right";
    const x = published ? bbox.left + 4 * devicePixelRatio : bbox.left + bbox.width - 4 * devicePixelRatio;
    ctx.strokeStyle = theme.paper;
    ctx.lineWidth = 3 * devicePixelRatio;
    ctx.strokeText(label, x, y - 4 * devicePixelRatio);
    ctx.fillText(label, x, y - 4 * devicePixelRatio);
  }

  private trace({ x, y }: Ghost): void {
    const { ctx } = this.plot;
    ctx.beginPath();
    for (let i = 0; i < x.length; i++) ctx.lineTo(this.plot.valToPos(x[i]!, "x", true), this.plot.valToPos(y[i]!, "y", true));
    ctx.stroke();
  }

  private clipped(draw: () => void): void {
    const { ctx, bbox } = this.plot;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.lineWidth = 1;
    draw();
    ctx.restore();
  }
}

function axis(more: uPlot.Axis): uPlot.Axis {
  const line = { width: 1, stroke: () => theme.rule };
  return { stroke: () => theme.soft, font: FONT, grid: line, ticks: { ...line, size: 4 }, gap: 4, ...more };
}

const label = (value: number): string => (Math.abs(value) >= 10_000 ? `${value / 1000}k` : value === 0 ? "0" : short2(value));

/** Ticks are round numbers: no digits but those they need. */
const short2 = (value: number): string => (Math.abs(value) < 1e-3 ? short(value) : String(Number(value.toPrecision(6))));
