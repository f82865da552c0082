// What can be changed while it runs: flows, rates, round trips, targets, a blast of UDP, anything by its path.

import { h } from "./dom";
import { attempt, knob } from "./form";
import type { Model } from "./model";
import type { Group, Link } from "./protocol";
import { seconds } from "./scale";

/** The group that the server adds for a blast of UDP: sources of 10 % of the link's rate each. */
export const BLAST = "blast";

export class Live {
  readonly element = h("div", {});
  private knobs = h("div", {});
  private made = h("ol", { className: "made soft" });
  private path = h("input", { type: "text", placeholder: "links.bottleneck.loss", "aria-label": "Path", spellcheck: false });
  private paths = h("datalist", { id: "paths" });
  private value = h("input", { type: "text", placeholder: "1%", "aria-label": "Value", spellcheck: false });

  constructor(private model: Model) {
    this.path.setAttribute("list", "paths");
    const form = h("form", { className: "row field" }, h("span", { className: "label", title: "A path as in [[changes]] of a scenario" }, "Anything else"), this.path, this.paths, this.value, h("button", { type: "submit" }, "Set"));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void attempt(this.path, () => model.set(this.path.value.trim(), this.value.value.trim()));
    });
    this.element.append(this.knobs, form, h("h3", { className: "label" }, "Changed by hand"), this.made);
  }

  /** Make the knobs of a run that was just opened. */
  show(): void {
    const run = this.model.run!;
    const real = run.groups.filter((group) => group.name !== BLAST);
    this.knobs.replaceChildren(
      ...real.flatMap((group) => this.group(group, real.length > 1)),
      ...run.links.flatMap((link) => this.link(link, run.links.length > 1)),
      ...this.blast(run.groups.find((group) => group.name === BLAST)),
    );
    const keys = ["rate", "delay", "buffer", "target", "loss", "aqm"];
    const paths = [
      ...run.links.flatMap(({ name }) => keys.map((key) => `links.${name}.${key}`)),
      ...run.groups.flatMap(({ name }) => ["count", "rtt", "stop"].map((key) => `flows.${name}.${key}`)),
    ];
    this.paths.replaceChildren(...paths.map((path) => h("option", { value: path })));
    this.list();
  }

  /** List what was changed so far. */
  list(): void {
    const changes = this.model.changes();
    const lanes = this.model.run?.lanes ?? [];
    const items = changes.map(({ at, path, value, lane }) =>
      h("li", {}, `${seconds(at)}: ${path} = ${value}${lane === null ? "" : ` (${lanes[lane]?.label ?? ""})`}`),
    );
    this.made.replaceChildren(...(items.length ? items : [h("li", { className: "soft" }, "Nothing so far.")]));
  }

  private group({ name, count, rtt }: Group, several: boolean): HTMLElement[] {
    const of = several ? ` of ${name}` : "";
    const flows = knob({
      label: `Flows${of}`, value: count, low: 0, high: Math.max(20, 4 * count),
      write: (value) => String(Math.round(value)),
      commit: (text) => this.model.set(`flows.${name}.count`, text),
    });
    const halve = h("button", { type: "button", className: "small" }, "Kill half");
    halve.onclick = () => void attempt(halve, () => this.model.halve(name));
    flows.querySelector("label")!.after(halve);
    if (!rtt) return [flows];
    return [flows, knob({
      label: `Round trip${of}`, value: rtt * 1000, low: 1, high: Math.max(500, 4000 * rtt), logarithmic: true,
      write: (value) => `${Number(value.toPrecision(2))} ms`,
      commit: (text) => this.model.set(`flows.${name}.rtt`, text),
    })];
  }

  private link({ name, rate, target_packets: target, packets }: Link, several: boolean): HTMLElement[] {
    const of = several ? ` of ${name}` : "";
    const mega = rate / 1e6;
    return [
      knob({
        label: `Rate${of}`, value: mega, low: mega / 10, high: mega * 10, logarithmic: true,
        write: (value) => `${Number(value.toPrecision(3))} Mbit/s`,
        commit: (text) => this.model.set(`links.${name}.rate`, text),
      }),
      knob({
        label: `Target${of}`, value: target, low: 1, high: Math.max(2, packets),
        write: (value) => `${Math.round(value)} packets`,
        commit: (text) => this.model.set(`links.${name}.target`, text),
      }),
    ];
  }

  private blast(group: Group | undefined): HTMLElement[] {
    if (!group) return [];
    return [knob({
      label: "UDP blast, of the link's rate", value: group.count * 10, low: 0, high: 200,
      write: (value) => `${Math.round(value / 10) * 10} %`,
      commit: (text) => this.model.set(`flows.${BLAST}.count`, String(Math.round(parseFloat(text) / 10))),
    })];
  }
}
