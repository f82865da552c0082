// What can be drawn against time, and which columns it is made of.

import { groupColour, theme } from "./palette";
import { keyOf, readSpec, type Column, type Opened, type Scheme } from "./protocol";

/** A line of a quantity under one scheme. */
export interface Part {
  name: string;
  colour: () => string;
  column: number;
  key: string;
}

export interface Quantity {
  id: string;
  title: string;
  unit: string;
  /** What a number of the server is multiplied by. */
  scale: number;
  doc: string;
  /** Its lines under a scheme; empty if the scheme has no such thing. */
  parts: (lane: number) => Part[];
  /** The value that a scheme steers to, in the unit shown. */
  target: (lane: number) => number | null;
}

/** The group that the server adds for a blast of UDP: sources of 10 % of the link's rate each. */
export const BLAST = "blast";
const LINK = ["queue", "delay", "delay_max", "utilisation", "rate", "drops", "marks"];
const observable = ({ of, name }: Column): boolean => of === "scheme" || (of === "link" && !LINK.includes(name));
const nothing = (): null => null;

/** Every quantity of a run; those of a link are of `link`. */
export function quantities(run: Opened, link: string, schemes: Scheme[]): Quantity[] {
  const columns = run.columns.map((column, index) => ({ ...column, at: index }));
  type Placed = (typeof columns)[number];
  const of = (lane: number, wanted: (column: Placed) => boolean) => columns.filter((each) => each.lane === lane && wanted(each));
  const part = (column: Placed, name: string, colour: () => string): Part => ({
    name, colour, column: column.at, key: keyOf(column),
  });
  const inLink = (name: string, colour = () => theme.line) => (lane: number) =>
    of(lane, (each) => (each.of === "link" || (each.of === "scheme" && name === "p")) && each.place === link && each.name === name).map((each) => part(each, name, colour));
  const both = (lane: number) => [
    ...inLink("drops")(lane).map((each) => ({ ...each, name: "dropped" })),
    ...inLink("marks", () => theme.target)(lane).map((each) => ({ ...each, name: "marked" })),
  ];
  const groups = (name: string) => (lane: number) =>
    of(lane, (each) => each.of === "group" && each.name === name && !(each.place === BLAST && !blasted(run))).map((each, i) =>
      part(each, each.place, () => groupColour(groupAt(run, each.place, i))),
    );
  const windows = (lane: number) =>
    of(lane, (each) => each.of === "flow" && each.name === "cwnd").map((each, i) =>
      part(each, `${each.place} ${(each.index ?? 0) + 1}`, () => groupColour(groupAt(run, each.place, i) + (each.index ?? 0))),
    );

  const found: Quantity[] = [
    quantity("queue", "Queue", "packets", 1, "Packets that wait, without the one in transmission.", inLink("queue"), (lane) => targetOf(run, lane, link, schemes)),
    quantity("delay", "Sojourn time", "ms", 1000, "Mean time in the queue of the packets sent.", inLink("delay"), (lane) => delayTarget(run, lane, link)),
    quantity("p", "Signal probability p", "", 1, "Probability with which the scheme drops or marks.", inLink("p"), nothing),
    quantity("goodput", "Goodput", "Mbit/s", 1e-6, "Payload received, by group of flows.", groups("goodput"), nothing),
    quantity("signals", "Drops and marks", "packets/s", 1, "Packets dropped and packets marked.", both, nothing),
    quantity("cwnd", "Congestion window", "packets", 1, "Window of the chosen flows.", windows, nothing),
    quantity("packet_delay", "Packet delay", "ms", 1000, "Source to destination, by group of flows.", groups("packet_delay"), nothing),
    quantity("utilisation", "Utilisation", "%", 100, "Share of the time in which the transmitter was busy.", inLink("utilisation"), nothing),
  ];
  const docs = new Map(schemes.flatMap(({ observables }) => observables.map(({ name, doc }) => [name, doc])));
  const own = columns.filter((each) => observable(each) && each.place === link && each.name !== "p");
  for (const [name, each] of new Map(own.map((column) => [column.name, column]))) {
    const time = each.unit === "s";
    const parts = (lane: number) => of(lane, (column) => observable(column) && column.place === link && column.name === name).map((column) => part(column, name, () => theme.line));
    const id = LINK.includes(name) ? `scheme ${name}` : name;
    found.push(quantity(id, `State: ${name}`, time ? "ms" : plain(each.unit), time ? 1000 : 1, docs.get(name) ?? "", parts, nothing));
  }
  return found;
}

function quantity(
  id: string, title: string, unit: string, scale: number, doc: string,
  parts: Quantity["parts"], target: Quantity["target"],
): Quantity {
  return { id, title, unit, scale, doc, parts, target };
}

/** Whether datagrams were ever sent by hand; until then their group is not worth a line. */
export const blasted = (run: Opened): boolean => run.lanes.some(({ changes }) => changes.some(({ path }) => path === `flows.${BLAST}.count`));

const plain = (unit: string): string => (["1", "ratio", "switch"].includes(unit) ? "" : unit);

const groupAt = (run: Opened, name: string, otherwise: number): number => {
  const at = run.groups.findIndex((group) => group.name === name);
  return at < 0 ? otherwise : at;
};

/** The link's target now, as the scenario has it or as changed by hand, for schemes that steer to a length. */
export function targetOf(run: Opened, lane: number, link: string, schemes: Scheme[]): number | null {
  const { name } = readSpec(run.lanes[lane]?.links[link]?.aqm ?? "");
  if (schemes.find((scheme) => scheme.name === name)?.target === null) return null;
  const changed = run.lanes[lane]?.changes.findLast((change) => change.path === `links.${link}.target`);
  const target = changed ? parseFloat(changed.value) : (run.links.find((each) => each.name === link)?.target_packets ?? NaN);
  return Number.isFinite(target) ? target : null;
}

const UNITS: Record<string, number> = { s: 1000, ms: 1, us: 1e-3, ns: 1e-6 };

/** The target of a scheme that steers to a delay, ms. */
function delayTarget(run: Opened, lane: number, link: string): number | null {
  const written = run.lanes[lane]?.links[link]?.parameters.target ?? "";
  const [, number, unit] = /^([\d.e+-]+) *(s|ms|us|ns)$/.exec(written) ?? [];
  return unit ? Number(number) * UNITS[unit]! : null;
}
