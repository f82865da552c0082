// The schemes side by side: which, and with which parameters.

import { h } from "./dom";
import { attempt, parameterField } from "./form";
import type { Model } from "./model";
import { schemeColour } from "./palette";
import { readSpec, writeSpec, type Catalogue, type Scheme } from "./protocol";

export class Schemes {
  readonly element: HTMLElement;
  private list = h("div", {});
  private add = h("select", { id: "add-scheme", "aria-label": "Add a scheme" });
  /** Lanes whose parameters are unfolded. */
  private unfolded = new Set<number>();

  constructor(private model: Model, private catalogue: Catalogue, private open: (aqms: (string | null)[]) => Promise<void>) {
    const families = new Map(catalogue.schemes.map((scheme) => [scheme.own ? "Own" : scheme.family, [] as Scheme[]]));
    for (const scheme of catalogue.schemes) families.get(scheme.own ? "Own" : scheme.family)!.push(scheme);
    this.add.append(h("option", { value: "" }, "Add a scheme…"));
    for (const [family, members] of families) {
      const options = members.map((scheme) => h("option", { value: scheme.name, title: scheme.summary }, scheme.title));
      this.add.append(h("optgroup", { label: family }, ...options));
    }
    this.add.addEventListener("change", () => void this.append(this.add.value));
    this.element = h("div", {}, this.list, this.add);
  }

  /** Show the schemes of the run; `link` is the one whose parameters are shown. */
  show(link: string): void {
    const { lanes } = this.model.run!;
    const focused = this.list.contains(document.activeElement) ? document.activeElement!.id : "";
    this.list.replaceChildren(...lanes.map((_, lane) => this.card(lane, link)));
    this.add.disabled = lanes.length >= this.catalogue.limits.lanes;
    if (focused) document.getElementById(focused)?.focus();
  }

  private card(lane: number, link: string): HTMLElement {
    const { label, links } = this.model.run!.lanes[lane]!;
    const name = links[link]?.aqm ?? label;
    const scheme = this.scheme(name);
    const swatch = h("i", { className: "swatch" });
    swatch.style.background = schemeColour(lane);
    const unfold = h("button", { className: "plain", type: "button", "aria-expanded": String(this.unfolded.has(lane)) }, "Parameters");
    const remove = h("button", { className: "plain", type: "button", "aria-label": `Remove ${label}`, title: `Remove ${label}` }, "✕");
    remove.disabled = this.model.run!.lanes.length === 1;
    remove.onclick = () => void this.open(this.model.opening.aqms.filter((_, i) => i !== lane));
    const form = h("div", { className: "form", hidden: !this.unfolded.has(lane) });
    unfold.onclick = () => {
      if (this.unfolded.has(lane)) this.unfolded.delete(lane);
      else this.unfolded.add(lane);
      form.hidden = !this.unfolded.has(lane);
      unfold.setAttribute("aria-expanded", String(!form.hidden));
    };
    form.append(...this.fields(lane, link, scheme));
    const title = h("span", { className: "name", title: scheme?.summary ?? "" }, label);
    return h("div", { className: "scheme" }, h("div", {}, swatch, title, unfold, remove), form);
  }

  private fields(lane: number, link: string, scheme: Scheme | undefined): HTMLElement[] {
    if (!scheme?.parameters.length) return [h("p", { className: "soft" }, "It has no parameters.")];
    const known = this.model.run!.lanes[lane]!.links[link]?.parameters ?? {};
    const summary = h("p", { className: "soft" }, scheme.summary);
    return [summary, ...scheme.parameters.map((parameter) =>
      parameterField(parameter, known[parameter.name], (text) => this.change(lane, link, parameter.name, text)),
    )];
  }

  /** Before the start a parameter is part of the scheme; later it is a change by hand. */
  private change(lane: number, link: string, name: string, text: string): Promise<unknown> {
    if (this.model.now > 0) return this.model.set(`links.${link}.aqm.${name}`, text, lane);
    const aqms = [...this.model.opening.aqms];
    const spec = readSpec(aqms[lane] ?? this.model.run!.lanes[lane]!.links[link]!.aqm);
    aqms[lane] = writeSpec(spec.name, { ...spec.set, [name]: text });
    return this.open(aqms);
  }

  private async append(name: string): Promise<void> {
    this.add.value = "";
    if (name) await attempt(this.add, () => this.open([...this.model.opening.aqms, name]));
  }

  private scheme(name: string): Scheme | undefined {
    const plain = readSpec(name).name;
    return this.catalogue.schemes.find((each) => each.name === plain);
  }
}
