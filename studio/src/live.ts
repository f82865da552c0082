// What can be changed while it runs: flows, rates, round trips, targets, a blast of UDP, anything by its path.

import { h } from "./dom";
import { attempt, knob, type Knob } from "./form";
import type { Model } from "./model";
import type { Group, Link } from "./protocol";
import { BLAST } from "./quantities";
import { seconds } from "./scale";

export class Live {
  readonly element = h("div", {});
  private following: { path: string; set: (text: string) => void }[] = [];
  private knobs = h("div", {});
  private made = h("ol", { className: "made soft" });
  private path = h("input", { type: "text", "aria-label": "Path", spellcheck: false });
  private paths = h("datalist", { id: "paths" });
  private value = h("input", { type: "text", "aria-label": "Value", spellcheck: false });

  constructor(private model: Model, private changeable: [string[], string[]]) {
    this.path.setAttribute("list", "paths");
    const form = h("form", { className: "field" }, h("span", { className: "label", title: "A path as in [[changes]] of a scenario" }, "Anything else"), this.path, this.paths, this.value, h("button", { type: "submit" }, "Set"));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void attempt(this.path, () => model.set(this.path.value.trim(), this.value.value.trim()));
    });
    this.element.append(this.knobs, form, h("h2", { className: "label" }, "Manual changes"), this.made);
  }

  /** Make the knobs of a run that was just opened. */
  show(): void {
    const run = this.model.run!;
    this.following = [];
    const real = run.groups.filter((group) => group.name !== BLAST);
    this.knobs.replaceChildren(
      ...real.flatMap((group) => this.group(group, real.length > 1)),
      ...run.links.flatMap((link) => this.link(link, run.links.length > 1)),
      ...this.blast(run.groups.find((group) => group.name === BLAST)),
    );
    const [ofLink, ofFlows] = this.changeable;
    const paths = [
      ...run.links.flatMap(({ name }) => ofLink.map((key) => `links.${name}.${key}`)),
      ...run.groups.flatMap(({ name }) => ofFlows.map((key) => `flows.${name}.${key}`)),
    ];
    this.paths.replaceChildren(...paths.map((path) => h("option", { value: path })));
    this.path.placeholder = `links.${run.links[0]!.name}.loss`;
    this.value.placeholder = "1%";
    this.list();
  }

  /** List what was changed so far, and set the knobs accordingly. */
  list(): void {
    const changes = this.model.changes();
    for (const { path, set } of this.following) {
      const last = changes.findLast((change) => change.path === path && change.lane === null);
      if (last) set(last.value);
    }
    const lanes = this.model.run?.lanes ?? [];
    const items = changes.map(({ at, path, value, lane }) =>
      h("li", {}, `${seconds(at)}: ${path} = ${value}${lane === null ? "" : ` (${lanes[lane]?.label ?? ""})`}`),
    );
    this.made.replaceChildren(...(items.length ? items : [h("li", { className: "soft" }, "Nothing so far.")]));
  }

  /** A knob for a path, which follows what is set there for all schemes; `read` is the number of a text. */
  private follow(path: string, read: (text: string) => number, made: Omit<Knob, "commit">): HTMLElement {
    const { element, set } = knob({ ...made, commit: (text) => this.model.set(path, this.written(path, text)) });
    this.following.push({ path, set: (text) => set(read(text)) });
    return element;
  }

  /** A blast is read as a share of the link, and set as a number of sources. */
  private written(path: string, text: string): string {
    return path === `flows.${BLAST}.count` ? String(Math.round(parseFloat(text) / 10)) : text;
  }

  private group({ name, count, rtt }: Group, several: boolean): HTMLElement[] {
    const of = several ? ` of ${name}` : "";
    const flows = this.follow(`flows.${name}.count`, Number, {
      label: `Flows${of}`, value: count, low: 0, high: Math.max(20, 4 * count),
      write: (value) => String(Math.round(value)),
    });
    const halve = h("button", { type: "button", className: "small" }, "Stop half");
    halve.onclick = () => void attempt(halve, () => this.model.halve(name));
    flows.querySelector("label")!.after(halve);
    if (!rtt) return [flows];
    return [flows, this.follow(`flows.${name}.rtt`, scaled, {
      label: `Round trip${of}`, value: rtt * 1000, low: 1, high: Math.max(500, 4000 * rtt), logarithmic: true,
      write: (value) => `${Number(value.toPrecision(3))} ms`,
    })];
  }

  private link({ name, rate, target_packets: target, packets }: Link, several: boolean): HTMLElement[] {
    const of = several ? ` of ${name}` : "";
    const mega = rate / 1e6;
    return [
      this.follow(`links.${name}.rate`, scaled, {
        label: `Rate${of}`, value: mega, low: mega / 10, high: mega * 10, logarithmic: true,
        write: (value) => `${Number(value.toPrecision(3))} Mbit/s`,
      }),
      this.follow(`links.${name}.target`, parseFloat, {
        label: `Target${of}`, value: target, low: 1, high: Math.max(2, packets),
        write: (value) => `${Math.round(value)} packets`,
      }),
    ];
  }

  private blast(group: Group | undefined): HTMLElement[] {
    if (!group) return [];
    return [this.follow(`flows.${BLAST}.count`, (text) => 10 * Number(text), {
      label: "UDP blast, as a share of the link's rate", value: group.count * 10, low: 0, high: 200,
      write: (value) => `${Math.round(value / 10) * 10} %`,
    })];
  }
}

const UNITS: Record<string, number> = { s: 1000, ms: 1, us: 1e-3, kbit: 1e-3, Mbit: 1, Gbit: 1e3, bit: 1e-6 };

/** The number of a text such as "80 ms" or "9 Mbit/s", in ms or Mbit/s. */
function scaled(text: string): number {
  const [, number = "", unit = ""] = /^([\d.e+-]+) *([a-zA-Z]*)/.exec(text.trim()) ?? [];
  return Number(number) * (UNITS[unit] ?? 1);
}

