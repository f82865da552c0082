// Guided pages: a scenario with text, three things to try, a question, and a sheet of exercises.

import { byId, h, setText } from "./dom";
import { Exercises } from "./exercises";
import type { Model } from "./model";
import { announce, notice } from "./notice";
import type { Catalogue, Opening } from "./protocol";
import { get } from "./session";

export interface Step {
  at: number;
  path: string;
  value: string;
  /** null or missing: all schemes. */
  lane?: number | null;
}

interface Try {
  title: string;
  html: string;
  open: Opening & { type: "open" };
  steps: Step[];
  until: number;
}

export interface Lesson {
  id: string;
  title: string;
  summary: string;
  html: string;
  open: Opening & { type: "open" };
  speed: number | null;
  watch: string[];
  overlays: { curve: string; value: number; label: string }[];
  tries: Try[];
  question: string;
  answer: string;
}

/** Seconds between the points of a lesson's curves; its scenario may go on for long. */
const SAMPLE = 0.05;

export class Lessons {
  /** The lesson that is open. */
  current: Lesson | null = null;
  private panel = byId("lesson");
  private turn = 0;
  /** The curves stand below the lesson, not beside it. */
  private narrow = matchMedia("(max-width: 56rem)");

  constructor(private model: Model, private catalogue: Catalogue, private prepare: (lesson: Lesson | null, curves?: string[]) => void) {
    const cards = catalogue.lessons.map(({ id, title, summary }) =>
      h("li", {}, h("button", { type: "button", onclick: () => (location.hash = `lesson=${id}`) }, h("b", {}, title), h("span", {}, summary))),
    );
    const about = "Each contains a live scenario, three experiments and a question. One takes about ten minutes.";
    byId("view-lessons").append(h("h2", {}, "Lessons"), h("p", { className: "soft" }, about), h("ol", { className: "cards" }, ...cards));
  }

  async open(id: string): Promise<void> {
    await announce(async () => {
      const lesson = await get<Lesson>(`lessons/${encodeURIComponent(id)}`);
      this.current = lesson;
      this.prepare(lesson);
      await this.start(lesson.open);
      await this.model.setSpeed(lesson.speed);
      this.show(lesson);
      await this.model.play();
    });
  }

  /** Leave the lesson; the run stays. */
  close(): void {
    if (!this.current) return;
    this.current = null;
    this.turn++;
    this.panel.hidden = true;
    this.prepare(null);
    location.hash = "live";
  }

  private async start({ type: _, ...opening }: Opening & { type: "open" }): Promise<void> {
    await this.model.open({ sample: SAMPLE, ...opening });
  }

  private show(lesson: Lesson): void {
    const at = this.catalogue.lessons.findIndex(({ id }) => id === lesson.id);
    const next = this.catalogue.lessons[at + 1];
    const leave = h("button", { type: "button", className: "plain", onclick: () => this.close() }, "Leave the lesson");
    const forth = next
      ? h("a", { className: "button", href: `#lesson=${next.id}` }, `Next: ${next.title}`)
      : h("a", { className: "button", href: "#lessons" }, "All lessons");
    this.panel.replaceChildren(
      h("div", { className: "head" }, h("span", { className: "soft" }, `Lesson ${at + 1} of ${this.catalogue.lessons.length}`), leave),
      h("h2", { tabIndex: -1 }, lesson.title),
      h("details", { open: true, className: "about" }, h("summary", {}, "Introduction"), markup(lesson.html)),
      h("h3", {}, "Three experiments"),
      h("ol", { className: "tries" }, ...lesson.tries.map((each, i) => this.try(each, i))),
      h("h3", {}, "Question"),
      markup(lesson.question),
      h("details", {}, h("summary", {}, "Answer"), markup(lesson.answer)),
      new Exercises(this.model, lesson.id, (curve) => this.prepare(lesson, [curve])).element,
      h("p", {}, forth),
    );
    this.panel.hidden = false;
    this.panel.querySelector("h2")!.focus();
  }

  private try(each: Try, i: number): HTMLElement {
    const go = h("button", { type: "button", className: "go", "aria-label": `Show experiment ${i + 1}: ${each.title}` }, "Show");
    const told = h("p", { className: "soft", "aria-live": "polite" });
    const byHand = each.steps.map((step) =>
      h("li", {}, `at ${step.at} s set `, h("code", {}, step.path), " to ", h("code", {}, step.value), under(this.model, step)),
    );
    const steps = byHand.length ? h("details", {}, h("summary", {}, "By hand"), h("ul", {}, ...byHand)) : null;
    const seen = h("details", { className: "seen" }, h("summary", {}, "What will happen? Predict it, then look"), markup(each.html));
    const item = h("li", {}, go, h("div", {}, h("b", {}, each.title), steps, told, seen));
    go.onclick = () => void announce(() => this.guide(each, go, told, item));
    return item;
  }

  /** Do a try step by step; something else that is done meanwhile ends it. */
  private async guide(each: Try, go: HTMLButtonElement, told: HTMLElement, item: HTMLElement): Promise<void> {
    const turn = ++this.turn;
    const { model } = this;
    this.panel.querySelector<HTMLDetailsElement>(".about")!.open = false;
    if (this.narrow.matches) byId("network").scrollIntoView();
    if (needsStart(model, each)) await this.start(each.open);
    const done = await follow(model, each, (text) => setText(told, text), () => turn === this.turn);
    if (!done) return this.broken(told, turn);
    setText(told, "Done. Compare the curves with your prediction, and with the text below.");
    item.classList.add("done");
    setText(go, "Again");
  }

  private broken(told: HTMLElement, turn: number): void {
    setText(told, turn === this.turn ? "Interrupted. Show starts again." : "");
    notice("");
  }
}

/** Whether the present run is no beginning of a try: too late, with other schemes, or changed by hand. */
export function needsStart(model: Model, { steps: [first], open }: Try): boolean {
  const late = first === undefined || model.now > first.at;
  return late || open.aqms.join() !== model.opening.aqms.join() || model.changes().length > 0;
}

/** Do the steps of a try and run to its end; false if something else was done, or `goesOn` says no more. */
export async function follow(model: Model, { steps, until }: Try, tell: (text: string) => void, goesOn: () => boolean): Promise<boolean> {
  for (const step of steps) {
    const { at, path, value, lane } = step;
    tell(`Running until ${at} s, then ${path} becomes ${value}${under(model, step)}.`);
    if (!(await model.until(at)) || !goesOn()) return false;
    await model.set(path, value, lane ?? null);
  }
  tell(`Running until ${until} s.`);
  return (await model.until(until)) && goesOn();
}

/** Under which scheme a step is done, where it is not all of them. */
function under({ run }: Model, { lane }: Step): string {
  const name = typeof lane === "number" ? run?.lanes[lane]?.label : undefined;
  return name ? ` under ${name}` : "";
}

/** Text that the server made from Markdown in which raw HTML is off. */
function markup(html: string): HTMLElement {
  const parsed = new DOMParser().parseFromString(html, "text/html");
  for (const each of parsed.body.querySelectorAll("script, style, iframe, object, link, meta, img")) each.remove();
  return h("div", { className: "text" }, ...parsed.body.childNodes);
}
