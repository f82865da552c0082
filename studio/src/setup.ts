// The column on the left: scenario, schemes, what can be changed.

import { backend } from "#backend";
import { byId, h } from "./dom";
import { Editor } from "./editor";
import { embedded } from "./embed";
import { attempt, field } from "./form";
import { Live } from "./live";
import type { Model } from "./model";
import type { Catalogue, Layout, Opening } from "./protocol";
import { BLAST } from "./quantities";
import { Schemes } from "./schemes";
import { check, get, layout } from "./session";

/** One column: what is changed stands above the curves. */
const narrow = matchMedia("(max-width: 56rem)");

export class Setup {
  private choice = h("select", {});
  private seed = h("input", { type: "number", min: 0, step: 1 });
  private use = h("button", { type: "button", className: "first", disabled: true }, "Use this scenario");
  private windows = h("input", { type: "text", placeholder: "the first of each group", spellcheck: false, autocomplete: "off" });
  private editor: Editor;
  private schemes: Schemes;
  private live: Live;

  constructor(host: HTMLElement, private model: Model, private catalogue: Catalogue) {
    const studies = new Map<string, HTMLElement>();
    this.choice.append(h("option", { value: "" }, "My own text"));
    for (const { name, study: of } of catalogue.scenarios) {
      const study = of ?? "Given at the start";
      if (!studies.has(study)) studies.set(study, h("optgroup", { label: study }));
      studies.get(study)!.append(h("option", { value: name }, name));
    }
    this.choice.append(...studies.values());
    this.choice.addEventListener("change", () => void attempt(this.choice, () => this.openNamed(this.choice.value)));
    this.seed.addEventListener("change", () => void attempt(this.seed, () => this.reopen({ seed: Number(this.seed.value) })));
    this.windows.addEventListener("change", () => void attempt(this.windows, () => this.openFlows(this.windows.value)));
    this.editor = new Editor(
      (text) => check(text, this.model.opening.aqms.filter((aqm) => aqm !== null)),
      (problems) => (this.use.disabled = problems.length > 0),
      () => (this.use.disabled = true),
    );
    this.use.onclick = () => void this.openText();
    this.editor.element.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void this.openText();
    });
    const limits = backend.texts.limits ? h("p", { className: "soft" }, backend.texts.limits) : null;
    this.schemes = new Schemes(model, catalogue, (aqms) => this.reopen({ aqms }));
    this.live = new Live(model, catalogue.changeable);
    const text = h("details", {}, h("summary", {}, "Text of the scenario"), this.editor.element, this.use);
    host.append(
      part("Scenario", true, field("Built in", this.choice), field("Seed", this.seed, "The same seed gives all schemes the same arrivals."),
        field("Windows of flows", this.windows, "Flows whose congestion windows are drawn: ftp 1, ftp 2"), text),
      part("Schemes", true, this.schemes.element, ...(limits ? [limits] : [])),
    );
    const live = part("Change while it runs", true, this.live.element);
    const lay = () => (embedded ? byId("curves").after(live) : narrow.matches ? byId("curves").before(live) : host.append(live));
    narrow.addEventListener("change", lay);
    lay();
    model.on(["changed"], () => {
      this.live.list();
      this.schemes.show(this.link());
    });
  }

  /** The link whose schemes, curves and measures are shown. */
  link: () => string = () => this.model.run?.links[0]?.name ?? "";

  show(): void {
    const { opening, run } = this.model;
    this.choice.value = opening.scenario ?? "";
    if (this.choice.selectedIndex < 0) this.choice.value = "";
    this.seed.value = String(run!.seed);
    this.windows.value = (opening.flows ?? []).map(([group, flow]) => `${group} ${flow + 1}`).join(", ");
    this.editor.text = run!.text;
    this.schemes.show(this.link());
    this.live.show();
  }

  showSchemes(): void {
    this.schemes.show(this.link());
  }

  /** Open a built-in scenario under the present schemes. */
  async openNamed(name: string): Promise<void> {
    if (!name) return;
    const { text } = await get<{ text: string }>(`scenario/${name}`);
    const found = await layout(text);
    const blast = slowest(found);
    const { seed } = this.model.opening;
    const aqms = this.model.opening.aqms.map((aqm) => aqm ?? only(found));
    await this.model.open({ scenario: name, aqms, blast, ...(seed === undefined ? {} : { seed }) });
  }

  /** Open with something else than now, and play on; what was changed by hand is forgotten. */
  async reopen(other: Partial<Opening>): Promise<void> {
    const { playing } = this.model;
    await this.model.open({ ...this.model.opening, ...other });
    if (playing) await this.model.play();
  }

  /** Draw the windows of other flows: groups with the numbers of their flows, which begin at 1. */
  private async openFlows(written: string): Promise<void> {
    const { flows: _, ...rest } = this.model.opening;
    const flows = written.split(",").map((each) => each.trim()).filter(Boolean).map((each): [string, number] => {
      const [, group, number] = /^(.+?) +(\d+)$/.exec(each) ?? [];
      if (!group || !Number(number)) throw new Error(`${each}: expected a group and a number from 1 on, such as ftp 1`);
      return [group, Number(number) - 1];
    });
    await this.model.open(flows.length ? { ...rest, flows } : rest);
  }

  private async openText(): Promise<void> {
    const { aqms, seed } = this.model.opening;
    const { text } = this.editor;
    const named = this.catalogue.scenarios.some(({ name }) => name === this.model.run?.name);
    await attempt(this.use, async () => {
      const blast = slowest(await layout(text));
      await this.model.open({ text, name: named ? "mine" : (this.model.run?.name ?? "mine"), aqms, blast, ...(seed === undefined ? {} : { seed }) });
    });
  }
}

/** The link at which a blast is felt; none where the scenario has a group of that name. */
function slowest(found: Layout | undefined): string | null {
  if (!found || found.groups.some(({ name }) => name === BLAST)) return null;
  return found.links.reduce((least, link) => (link.rate < least.rate ? link : least)).name;
}

/** The scheme of all links, if they have the same. */
function only(found: Layout | undefined): string | null {
  const schemes = new Set(found?.links.map(({ aqm }) => aqm));
  return schemes.size === 1 ? [...schemes][0]! : null;
}

function part(title: string, open: boolean, ...content: HTMLElement[]): HTMLElement {
  return h("details", { open }, h("summary", {}, title), ...content);
}
