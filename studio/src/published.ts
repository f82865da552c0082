// What a paper printed of the scenario that runs: lines across the curves, numbers in the table.

import type { Level } from "./panel";
import type { Catalogue, Opened } from "./protocol";
import type { Quantity } from "./quantities";
import { get } from "./session";

interface Cell {
  aqm: string | null;
  ours: string | null;
  published: number;
  /** Where it is not the table's. */
  scenario: string | null;
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
    if (!this.papers.has(study)) this.papers.set(study, get<Paper>(`published/${study}`));
    void this.papers.get(study)!.then(({ title, tables }) => {
      this.cells = tables.flatMap(({ scenarios, cells }) =>
        cells.filter(({ scenario }) => (scenario === null ? scenarios.includes(run.name) : scenario === run.name)),
      );
      this.title = this.cells.length ? title : "";
      this.came();
    });
  }

  /** A value of the paper under a scheme of the run. */
  value(run: Opened, lane: number, measure: string): number | null {
    const aqm = run.lanes[lane]!.aqm;
    return this.cells.find((cell) => aqm !== null && cell.aqm === aqm && cell.ours === measure)?.published ?? null;
  }

  levels(run: Opened, lane: number | null, quantity: Quantity, link: string): Level[] {
    const mean = MEANS[quantity.id];
    const value = mean && lane !== null ? this.value(run, lane, `links.${link}.${mean}`) : null;
    return value === null ? [] : [{ value: value * quantity.scale, label: "published mean", published: true }];
  }
}
