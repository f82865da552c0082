// The curves as a file: what is on the screen as PNG, the numbers as lines of SVG.

import type { Curves } from "./curves";
import type { Model } from "./model";
import { theme } from "./palette";

const [WIDTH, HEIGHT, HEAD, LEFT, FOOT] = [420, 230, 26, 56, 26];

/** The panels as they are, below each other in two columns. */
export async function png(curves: Curves, title: string): Promise<Blob> {
  const panels = curves.panels().map((each) => ({ title: curves.titleOf(each), canvas: each.panel.plot.ctx.canvas }));
  const ratio = devicePixelRatio;
  const columns = Math.min(2, panels.length);
  const width = Math.max(...panels.map(({ canvas }) => canvas.width));
  const height = Math.max(...panels.map(({ canvas }) => canvas.height)) + HEAD * ratio;
  const whole = document.createElement("canvas");
  whole.width = columns * width;
  whole.height = Math.ceil(panels.length / columns) * height + HEAD * ratio;
  const context = whole.getContext("2d")!;
  context.fillStyle = theme.paper;
  context.fillRect(0, 0, whole.width, whole.height);
  context.fillStyle = theme.ink;
  context.font = `600 ${14 * ratio}px system-ui, sans-serif`;
  context.fillText(title, 8 * ratio, 18 * ratio);
  context.font = `600 ${12 * ratio}px system-ui, sans-serif`;
  for (const [i, panel] of panels.entries()) {
    const [x, y] = [(i % columns) * width, HEAD * ratio + Math.floor(i / columns) * height];
    context.fillText(panel.title, x + 8 * ratio, y + 18 * ratio);
    context.drawImage(panel.canvas, x, y + HEAD * ratio);
  }
  return new Promise((resolve) => whole.toBlob((blob) => resolve(blob!), "image/png"));
}

/** The panels drawn again from their numbers. */
export function svg(curves: Curves, model: Model, title: string): string {
  const panels = curves.panels();
  const columns = Math.min(2, panels.length);
  const drawn = panels.map((each, i) => {
    const { x, y } = each.axes;
    const left = (value: number) => LEFT + ((value - x[0]) / (x[1] - x[0])) * (WIDTH - LEFT - 12);
    const top = (value: number) => HEIGHT - FOOT - ((value - y[0]) / (y[1] - y[0])) * (HEIGHT - FOOT - HEAD);
    const { time, length } = model.rows;
    const lines = each.parts.map((part, turn) => {
      const values = model.rows.column(part.column);
      let path = "";
      for (let row = 0; row < length; row++) {
        const value = values[row]! * each.quantity.scale;
        if (time[row]! < x[0] || Number.isNaN(value)) continue;
        path += `${path ? "L" : "M"}${left(time[row]!).toFixed(1)} ${top(value).toFixed(1)}`;
      }
      return `<path d="${path}" fill="none" stroke="${strokeOf(each.panel.plot.series[turn + 1]?.stroke, part.colour)}"/>`;
    });
    const across = each.panel.levels.map(({ value, label }) =>
      `<path d="M${LEFT} ${top(value).toFixed(1)}H${WIDTH - 12}" stroke="${theme.target}" stroke-dasharray="7 4"/><text x="${WIDTH - 16}" y="${(top(value) - 4).toFixed(1)}" text-anchor="end" fill="${theme.target}">${escape(label)}</text>`,
    );
    const frame = `<path d="M${LEFT} ${HEAD}V${HEIGHT - FOOT}H${WIDTH - 12}" fill="none" stroke="${theme.soft}"/>`;
    const ends = `<text x="${LEFT - 6}" y="${HEIGHT - FOOT}" text-anchor="end">${y[0]}</text><text x="${LEFT - 6}" y="${HEAD + 8}" text-anchor="end">${y[1]}</text><text x="${LEFT}" y="${HEIGHT - 10}">${x[0]} s</text><text x="${WIDTH - 12}" y="${HEIGHT - 10}" text-anchor="end">${x[1]} s</text>`;
    const name = `<text x="${LEFT}" y="16" font-weight="600">${escape(curves.titleOf(each))}</text>`;
    return `<g transform="translate(${(i % columns) * WIDTH} ${30 + Math.floor(i / columns) * HEIGHT})">${frame}${lines.join("")}${across.join("")}${ends}${name}</g>`;
  });
  const [width, height] = [columns * WIDTH, 30 + Math.ceil(panels.length / columns) * HEIGHT];
  const head = `<rect width="100%" height="100%" fill="${theme.paper}"/><text x="${LEFT}" y="20" font-size="14" font-weight="600">${escape(title)}</text>`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="11" fill="${theme.ink}">${head}${drawn.join("")}</svg>\n`;
}

const strokeOf = (stroke: unknown, otherwise: () => string): string => (typeof stroke === "function" ? String(stroke()) : otherwise());

const escape = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
