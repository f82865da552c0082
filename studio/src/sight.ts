// What is in sight: which curves, of which link, beside each other or together, of how much time.

import type { Curves } from "./curves";
import { h } from "./dom";
import type { Model } from "./model";
import type { Scheme } from "./protocol";
import { quantities, type Quantity } from "./quantities";
import type { Sight as State } from "./share";

/** Width of a curve that none is wider than. */
const PIXELS = 1200;
const FIRST = ["queue", "delay", "p", "goodput", "signals", "cwnd"];

export class Sight {
  private chips = h("fieldset", { className: "chips" });
  private together = h("select", { "aria-label": "Arrangement" }, h("option", { value: "" }, "Side by side"), h("option", { value: "1" }, "On the same axes"));
  private link = h("select", { "aria-label": "Link" });
  private window = h("select", { "aria-label": "Time shown" });
  private wished = "";
  private chosen = new Set(FIRST);
  private offered: Quantity[] = [];

  constructor(host: HTMLElement, private model: Model, private curves: Curves, private schemes: Scheme[], private moved: () => void) {
    for (const [value, text] of [["", "Whole run"], ["2", "Last 2 s"], ["10", "Last 10 s"], ["30", "Last 30 s"]] as const) {
      this.window.append(h("option", { value }, text));
    }
    const head = h("div", { className: "head" }, h("h2", {}, "Curves"), h("div", { className: "choices" }, this.link, this.together, this.window));
    host.prepend(head, this.chips);
    curves.spans = (span) => model.session.tell({ type: "view", span, pixels: PIXELS });
    this.link.onchange = () => this.moved();
    this.together.onchange = () => this.show();
    this.window.onchange = () => this.show();
  }

  /** The name of the link in sight. */
  place = (): string => this.link.value || this.model.run?.links[0]?.name || "";

  get state(): State {
    const window = this.window.value ? Number(this.window.value) : null;
    return { quantities: [...this.chosen], link: this.place(), together: this.together.value === "1", window };
  }

  set state({ quantities: chosen, link, together, window }: State) {
    this.chosen = new Set(chosen);
    this.links();
    this.link.value = link;
    this.together.value = together ? "1" : "";
    this.window.value = window === null ? "" : String(window);
  }

  /** Choose what the run to be opened next begins with. */
  wish(chosen: string[], link: string, together = this.together.value === "1"): void {
    [this.chosen, this.wished, this.together.value] = [new Set(chosen), link, together ? "1" : ""];
  }

  /** Fill the list of links of the run that was opened. */
  links(): void {
    const names = this.model.run!.links.map(({ name }) => name);
    const before = this.wished || this.link.value;
    this.wished = "";
    this.link.replaceChildren(...names.map((name) => h("option", { value: name }, name)));
    this.link.value = names.includes(before) ? before : this.slowest();
    this.link.hidden = names.length < 2;
  }

  /** The link at which queues are to be expected. */
  private slowest(): string {
    return this.model.run!.links.reduce((least, link) => (link.rate < least.rate ? link : least)).name;
  }

  /** Offer what the run has, and draw what is chosen. */
  show(): void {
    const run = this.model.run!;
    this.offered = quantities(run, this.place(), this.schemes).filter((quantity) => run.lanes.some((_, lane) => quantity.parts(lane).length));
    this.chips.replaceChildren(h("legend", { className: "unseen" }, "Curves shown"), ...this.offered.map((quantity) => this.chip(quantity)));
    const { window, together } = this.state;
    this.curves.window = window;
    this.together.hidden = run.lanes.length < 2;
    this.curves.show(this.offered.filter(({ id }) => this.chosen.has(id)), together && run.lanes.length > 1);
  }

  private chip(quantity: Quantity): HTMLElement {
    const box = h("input", { type: "checkbox", checked: this.chosen.has(quantity.id) });
    box.onchange = () => {
      if (box.checked) this.chosen.add(quantity.id);
      else this.chosen.delete(quantity.id);
      this.curves.show(this.offered.filter(({ id }) => this.chosen.has(id)), this.state.together && this.model.run!.lanes.length > 1);
    };
    return h("label", { className: "chip", title: quantity.doc }, box, h("span", {}, quantity.title));
  }
}
