// What a paper printed of the scenario that runs: lines across the curves, numbers in the table.

import type { Level } from "./panel";
import type { Catalogue, Opened } from "./protocol";
import type { Quantity } from "./quantities";
import { readSpec } from "./protocol";
import { get } from "./session";

interface Cell {
  aqm: string | null;
  ours: string | null;
  published: number;
}

interface Paper {
  title: string;
  tables: { scenarios: string[]; cells: Cell[] }[];
}

/** The measure that is the mean of a curve. */
const MEANS: Record<string, string> = { queue: "queue_mean", delay: "queue_delay_mean", utilisation: "utilisation" };

export class Published {
  /** The paper whose scenario runs. */
  title = "";
  private cells: Cell[] = [];
  private papers = new Map<string, Promise<Paper>>();

  constructor(private catalogue: Catalogue, private came: () => void) {}

  /** Take up the scenario that was opened. */
  follow(run: Opened): void {
    [this.cells, this.title] = [[], ""];
    const study = this.catalogue.scenarios.find(({ name }) => name === run.name)?.study;
    if (!study || !this.catalogue.studies.some(({ name }) => name === study)) return;
    if (!this.papers.has(study)) this.papers.set(study, get<Paper>(`/api/published/${study}`));
    void this.papers.get(study)!.then(({ title, tables }) => {
      this.cells = tables.filter(({ scenarios }) => scenarios.includes(run.name)).flatMap(({ cells }) => cells);
      this.title = this.cells.length ? title : "";
      this.came();
    });
  }

  /** A value of the paper under a scheme; schemes with parameters of their own are not in it. */
  value(aqm: string, measure: string): number | null {
    return this.cells.find((cell) => cell.aqm === aqm && cell.ours === measure)?.published ?? null;
  }

  levels(run: Opened, lane: number | null, quantity: Quantity, link: string): Level[] {
    const aqm = lane === null ? "" : run.lanes[lane]!.aqm;
    const mean = MEANS[quantity.id];
    const value = mean ? this.value(readSpec(aqm).name === aqm ? aqm : "", `links.${link}.${mean}`) : null;
    return value === null ? [] : [{ value: value * quantity.scale, label: "published mean" }];
  }
}
