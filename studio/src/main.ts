// The studio: connects, builds the page and lets its parts follow the run.

import { backend } from "#backend";
import { Curves } from "./curves";
import { keysDialog, linkDialog, saveDialog } from "./dialogs";
import { byId, h, setText } from "./dom";
import { Drawing } from "./drawing";
import { embedded } from "./embed";
import { Lessons, type Lesson } from "./lessons";
import { Measures } from "./measures";
import { Model } from "./model";
import { announce, notice } from "./notice";
import { followTheme } from "./palette";
import type { Catalogue, Opened } from "./protocol";
import { Published } from "./published";
import { blasted, targetOf } from "./quantities";
import { Results } from "./results";
import { short, seconds } from "./scale";
import { catalogue as ask, Session } from "./session";
import { address, repeat, shared } from "./share";
import { Setup } from "./setup";
import { Sight } from "./sight";
import { Transport } from "./transport";

const FIRST = { scenario: "home/call", aqms: ["droptail", "codel", "fq-codel"], speed: 2 };
const VIEWS = ["live", "lessons", "results"];
/** ms between two sentences for those who listen. */
const SPOKEN = 10_000;

class Studio {
  private curves: Curves;
  private drawing: Drawing;
  private measures: Measures;
  private transport: Transport;
  private setup: Setup;
  private sight: Sight;
  private lessons: Lessons;
  private results = new Results();
  private published: Published;
  private lesson: Lesson | null = null;
  private spoken = 0;
  /** The first run is there; a lesson that is chosen before waits for it, so that it is not replaced by it. */
  private begun = false;
  /** Which columns are in sight. */
  private columns = "";

  constructor(private model: Model, private catalogue: Catalogue) {
    const place = () => this.sight.place();
    this.drawing = new Drawing(byId("network"), model, place, (lane, link) => targetOf(model.run!, lane, link, catalogue.schemes));
    const panels = h("div", { className: "quantities" });
    byId("curves").append(panels);
    this.curves = new Curves(panels, model);
    this.sight = new Sight(byId("curves"), model, this.curves, catalogue.schemes, () => this.look());
    this.measures = new Measures(byId("measures"), model, catalogue);
    this.transport = new Transport(byId("transport"), model);
    this.setup = new Setup(byId("setup"), model, catalogue);
    this.setup.link = place;
    this.published = new Published(catalogue, () => this.curves.refresh());
    this.curves.levels = (lane, quantity) => [
      ...this.published.levels(model.run!, lane, quantity, place()),
      ...(this.lesson?.overlays ?? [])
        .filter(({ curve }) => isOf(curveOf(curve), quantity.id, place()))
        .map(({ value, label }) => ({ value: value * quantity.scale, label })),
    ];
    this.measures.published = (lane, measure) => this.published.value(model.run!, lane, measure);
    this.lessons = new Lessons(model, catalogue, (lesson, curves) => this.watch(lesson, curves));
    model.on(["opened"], () => this.opened());
    model.on(["changed"], () => {
      if (this.columns === columnsOf(model.run!)) this.curves.refresh();
      else this.look();
      this.drawing.show();
    });
    model.on(["frame"], () => this.grow());
    model.on(["state"], () => this.speak(true));
    model.on(["measured"], () => this.measures.refresh());
    followTheme(() => this.opened());
    this.tools();
    window.addEventListener("hashchange", () => void (this.begun && this.route()));
    window.addEventListener("beforeunload", (event) => {
      if (!embedded && !model.lost && navigator.userActivation.hasBeenActive && (model.changes().length || model.marks.length)) event.preventDefault();
    });
    window.addEventListener("keydown", (event) => this.key(event));
  }

  /** Show what the address asks for, or else something worth watching. */
  async begin({ scenario, aqms, seed, speed }: Wanted): Promise<void> {
    const why = await this.repeat().catch((error: Error) => error.message);
    this.begun = why === null || location.hash.startsWith("#lesson=");
    if (why === null && this.model.run) return;
    if (why) history.replaceState(null, "", "#live");
    if (location.hash.startsWith("#lesson=")) return this.route();
    const named = scenario ?? this.catalogue.scenario;
    const schemes = aqms.length ? aqms : named === null ? FIRST.aqms : [null];
    this.model.opening = { aqms: schemes, ...(seed === null ? {} : { seed }) };
    this.model.speed = speed ?? FIRST.speed;
    if (embedded) this.sight.wish(["queue"], "", true);
    await announce(async () => {
      await this.setup.openNamed(named ?? FIRST.scenario);
      if (!matchMedia("(prefers-reduced-motion: reduce)").matches) await this.model.play();
    });
    this.begun = true;
    await this.route();
    if (why) notice(why);
  }

  /** Do again what the address holds, if it does; null if all went well. */
  private async repeat(): Promise<string | null> {
    const given = await shared(location.hash);
    if (!given) return "";
    this.view("live");
    await repeat(this.model, given);
    this.sight.state = given;
    this.look();
    return null;
  }

  private tools(): void {
    const button = (text: string, title: string, act: () => unknown) =>
      h("button", { type: "button", title, onclick: act, "aria-label": text }, text);
    byId("tools").append(
      button("Link", "A link to this view (L)", () => this.link()),
      button("Save", "Pictures, numbers, scenario, report (E)", () => this.save()),
      button("?", "Keys", keysDialog),
    );
    if (!embedded) return;
    document.body.classList.add("embedded");
    const open = async () => void window.open(await address(this.model, this.sight.state), "_blank");
    byId("transport").append(button("Studio", "Open this in the studio", open));
  }

  private opened(): void {
    if (!this.model.run) return;
    document.title = `${this.model.run.title} · AQM studio`;
    this.sight.links();
    this.published.follow(this.model.run);
    this.setup.show();
    this.look();
  }

  /** Another link or other schemes are in sight. */
  private look(): void {
    this.columns = columnsOf(this.model.run!);
    this.sight.show();
    this.drawing.show();
    this.measures.show(this.sight.place());
    this.setup.showSchemes();
  }

  private grow(): void {
    this.curves.invalidate();
    this.drawing.invalidate();
    this.speak(false);
  }

  /** Put what a lesson points at in sight, or these curves of it. */
  private watch(lesson: Lesson | null, curves = lesson?.watch ?? []): void {
    this.lesson = lesson;
    if (!lesson) return;
    const link = [...curves, ...lesson.watch].map(curveOf).find(({ of }) => of === "links")?.place ?? "";
    this.sight.wish([...new Set(curves.map((curve) => curveOf(curve).quantity))], link);
  }

  private async route(): Promise<void> {
    const hash = location.hash.slice(1);
    const [view, lesson] = hash.split("=");
    if (view === "s") return this.follow();
    this.view(view === "lesson" ? "live" : VIEWS.includes(view ?? "") ? view! : "live");
    if (view === "lesson" && lesson && this.lessons.current?.id !== lesson) await this.lessons.open(lesson);
  }

  /** Open a link that was put into the address of a page that shows a run already. */
  private async follow(): Promise<void> {
    await announce(async () => void (await this.repeat()));
  }

  private view(name: string): void {
    for (const each of VIEWS) byId(`view-${each}`).hidden = each !== name;
    byId("transport").hidden = name !== "live";
    for (const link of document.querySelectorAll<HTMLElement>("[data-view]")) {
      if (link.dataset.view === name) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    if (name === "results") void announce(() => this.results.show());
    else this.results.leave();
  }

  private link(): Promise<void> {
    return announce(async () => linkDialog(await address(this.model, this.sight.state)));
  }

  private save(): void {
    if (this.model.run) saveDialog(this.model, this.curves);
  }

  private key(event: KeyboardEvent): void {
    const target = event.target as HTMLElement;
    const typing = target.matches("input:not([type=checkbox], [type=range]), textarea, select, dialog *");
    if (typing || event.ctrlKey || event.metaKey || event.altKey || byId("view-live").hidden) return;
    if (event.key === " " && target.matches("button, a, summary, input")) return;
    const act = {
      " ": () => this.transport.toggle(),
      s: () => this.transport.step(),
      m: () => this.transport.setMark(),
      r: () => this.transport.rewind(),
      "+": () => this.transport.faster(1),
      "-": () => this.transport.faster(-1),
      e: () => this.save(),
      l: () => this.link(),
      "?": () => keysDialog(),
    }[event.key.toLowerCase()];
    if (!act) return;
    event.preventDefault();
    void act();
  }

  /** Tell those who listen how the queues are: when something happens, and now and then. */
  private speak(now: boolean): void {
    const time = performance.now();
    const { run, rows, playing } = this.model;
    if (!run || !rows.length || (!now && time - this.spoken < SPOKEN)) return;
    this.spoken = time;
    const place = this.sight.place();
    const told = run.lanes.map(({ label }, lane) => {
      const column = this.model.place({ lane, of: "link", place, index: null, name: "queue" });
      return column === undefined ? "" : `${label} ${short(rows.column(column)[rows.length - 1])} packets`;
    });
    setText(byId("spoken"), `${playing ? "Running" : "Paused"} at ${seconds(this.model.now)}. Queue: ${told.join(", ")}.`);
  }
}

/** What an address asks for, whoever wrote it; what is wrong is refused when it is opened. */
interface Wanted {
  scenario: string | null;
  aqms: string[];
  seed: number | null;
  speed: number | null;
}

function wanted(query: URLSearchParams): Wanted {
  const number = (name: string): number | null => (query.get(name) ? Number(query.get(name)) : null);
  return { scenario: query.get("scenario"), aqms: query.getAll("aqm"), seed: number("seed"), speed: number("speed") };
}

/** What changes when other lines are to be drawn. */
const columnsOf = (run: Opened): string => `${run.epoch} ${blasted(run)} ${run.lanes.map(({ label }) => label)}`;

/** Whether a curve is drawn with a quantity: those of links only where their link is in sight. */
const isOf = (curve: ReturnType<typeof curveOf>, quantity: string, link: string): boolean =>
  curve.quantity === quantity && (curve.of !== "links" || curve.place === link);

/** "links.up.delay": of what, which, and the quantity that shows it. */
function curveOf(curve: string): { of: string; place: string; quantity: string } {
  const [of = "", place = "", name = ""] = curve.split(".");
  const quantity = { drops: "signals", marks: "signals", delay_max: "delay" }[name] ?? name;
  return { of, place, quantity };
}

async function start(): Promise<void> {
  const asked = wanted(new URLSearchParams(location.search));
  if (!embedded) history.replaceState(null, "", location.pathname + location.hash);
  const [catalogue, session] = await Promise.all([ask(), Session.connect()]);
  const model = new Model(session);
  model.onProblem = (problems) => notice(problems.map(({ message }) => message).join("\n"));
  session.onLost = () => {
    model.end();
    notice(backend.texts.lost);
  };
  await new Studio(model, catalogue).begin(asked);
}

start().catch((error: Error) => notice(error.message));
