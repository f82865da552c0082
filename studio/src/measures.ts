// The running table: what `aqmlab run` would say if the run ended now.

import { h, setText } from "./dom";
import type { Model } from "./model";
import type { Catalogue, Measure } from "./protocol";
import { short } from "./scale";

const LINK = ["queue_mean", "queue_std", "queue_delay_mean", "queue_delay_p99", "drop_ratio", "mark_ratio", "utilisation"];
const TOTAL = ["goodput", "jain", "packet_delay_mean"];

/** A published value of a measure under a scheme of the run. */
type PublishedMeasure = (lane: number, measure: string) => number | null;

export class Measures {
  published: PublishedMeasure = () => null;
  private body = h("tbody");
  private cells: HTMLElement[][] = [];
  private names: { key: string; measure: Measure }[] = [];
  private note = h("p", { className: "soft" });
  private table = h("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": "Measures so far" });

  constructor(host: HTMLElement, private model: Model, private catalogue: Catalogue) {
    host.append(h("div", { className: "head" }, h("h2", {}, "Measures so far"), this.note), this.table);
  }

  /** A row a scheme, a column a measure. */
  show(link: string): void {
    const run = this.model.run!;
    this.names = this.catalogue.measures
      .flatMap((measure) => [
        { key: `links.${link}.${measure.name}`, measure, at: measure.of === "link" ? LINK.indexOf(measure.name) : -1 },
        { key: `total.${measure.name}`, measure, at: measure.of === "flows" ? TOTAL.indexOf(measure.name) : -1 },
      ])
      .filter(({ at }) => at >= 0)
      .sort((a, b) => (a.measure.of === b.measure.of ? a.at - b.at : a.measure.of === "link" ? -1 : 1));
    const head = this.names.map(({ measure }) =>
      h("th", { scope: "col", title: measure.definition }, measure.title, h("small", {}, unitOf(measure) || " ")),
    );
    this.cells = run.lanes.map(() => this.names.map(() => h("td", {}, "–")));
    this.body = h("tbody", {}, ...run.lanes.map(({ label }, i) => h("tr", {}, h("th", { scope: "row" }, label), ...this.cells[i]!)));
    const caption = h("caption", { className: "unseen" }, "Measures of each scheme since the warm-up");
    this.table.replaceChildren(
      h("table", {}, caption, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Scheme"), ...head)), this.body),
    );
    const since = run.warmup ? `since the warm-up of ${short(run.warmup)} s, ` : "";
    setText(this.note, `At ${link}, ${since}as aqmlab run would print them if the run ended now.`);
    this.refresh();
  }

  refresh(): void {
    for (const [lane, cells] of this.cells.entries()) {
      const values = this.model.measures[lane] ?? {};
      for (const [i, { key, measure }] of this.names.entries()) {
        const value = write(values[key], measure);
        const published = this.published(lane, key);
        setText(cells[i]!, published === null ? value : `${value} (published ${write(published, measure)})`);
      }
    }
  }
}

const unitOf = (measure: Measure): string => (["1", "ratio"].includes(measure.shown.unit) ? "" : measure.shown.unit);

/** A value as the tables of a terminal have it. */
export function write(value: number | null | undefined, { shown }: Measure): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const scaled = value * shown.scale;
  return shown.exponent ? scaled.toExponential(shown.digits) : scaled.toFixed(shown.digits);
}
