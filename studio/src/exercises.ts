// The sheet of a lesson: tasks with a student's own parameters, answers, and what the check says of them.

import { byId, download, h, setText } from "./dom";
import { attempt, field } from "./form";
import type { Model } from "./model";
import { examined, type Asked, type ShownSheet, type ShownTask, type TaskRun, type Verdict } from "./session";

const MINUTES = ["15", "45", "90"];
/** Seconds between the points of the curves. */
const SAMPLE = 0.05;

/** What a student has written, as the browser keeps it. */
interface Kept {
  student: string;
  minutes: string;
  answers: Record<string, string>;
}

export class Exercises {
  readonly element: HTMLElement;
  private student = h("input", { type: "text", autocomplete: "off", spellcheck: false, maxLength: 60, required: true });
  private minutes = h("select", {}, ...MINUTES.map((each) => h("option", { value: each }, `${each} minutes`)));
  private tasks = h("div", {});
  private fields = new Map<string, HTMLInputElement | HTMLTextAreaElement>();
  private kept: Kept;
  /** Above the curves where these stand below the lesson: what there is to do, and the way back. */
  private back = h("button", { type: "button" }, "Back to the task");
  private bar = h("p", { className: "back", hidden: true }, h("span"), this.back);
  /** The task whose run is shown, and the turn of the model at which it was opened. */
  private running: { task: string; turn: number } | null = null;

  /** `watch` puts a curve in sight of the run that is opened next. */
  constructor(private model: Model, private lesson: string, private watch: (curve: string) => void) {
    this.kept = read(lesson);
    [this.student.value, this.minutes.value] = [this.kept.student, this.kept.minutes];
    const show = h("button", { type: "submit" }, "Show my sheet");
    const form = h("form", {}, field("Student number", this.student, "It determines your parameters; another number gives other parameters."), field("Time", this.minutes), h("div", { className: "row" }, show));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void attempt(this.student, () => this.show());
    });
    byId("curves").querySelector(".back")?.remove();
    byId("curves").prepend(this.bar);
    const about = "Predict, do, explain. Your answers are checked against your own run, and kept in this browser only.";
    this.element = h("details", { className: "exercises" }, h("summary", {}, "Exercises"), h("p", { className: "soft" }, about), form, this.tasks);
  }

  private get answers(): Record<string, string> {
    return Object.fromEntries([...this.fields].map(([task, { value }]) => [task, value]));
  }

  /** Ask about the sheet that is shown. */
  private ask<T>(want: Asked["want"]): Promise<T> {
    const { student, minutes } = this.kept;
    return examined(this.lesson, { want, student, minutes: Number(minutes), answers: this.answers });
  }

  /** Show the sheet of the student. */
  private async show(): Promise<void> {
    const [student, minutes] = [this.student.value.trim(), this.minutes.value];
    const sheet = await examined<ShownSheet>(this.lesson, { want: "show", student, minutes: Number(minutes), answers: {} });
    this.kept = { student, minutes, answers: student === this.kept.student ? this.kept.answers : {} };
    this.fields.clear();
    const told = h("p", { role: "status" });
    const tasks = sheet.tasks.map((task) => this.task(task));
    const check = h("button", { type: "button", className: "first" }, "Check my answers");
    check.onclick = () => void attempt(check, () => this.check(tasks, told, check));
    const file = h("button", { type: "button" }, "Save answers.toml");
    file.onclick = () => void attempt(file, async () => {
      const { text } = await this.ask<{ text: string }>("file");
      download("answers.toml", text, "application/toml");
    });
    const values = Object.entries(sheet.values).map(([path, value]) => h("li", {}, h("code", {}, path), ` = ${value}`));
    this.tasks.replaceChildren(
      h("h3", { tabIndex: -1 }, "Your parameters"), h("ul", { className: "made" }, ...values),
      h("ol", { className: "tasks" }, ...tasks.map(({ element }) => element)), h("div", { className: "row" }, check, file), told,
    );
    this.keep();
    this.tasks.querySelector("h3")!.focus();
  }

  private task({ id, ask, words, run }: ShownTask): { element: HTMLElement; told: HTMLElement; id: string } {
    const answer = ask === "Explain" ? h("textarea", { rows: 3 }) : h("input", { type: "text", autocomplete: "off", spellcheck: false });
    answer.value = this.kept.answers[id] ?? "";
    answer.addEventListener("input", () => this.keep());
    this.fields.set(id, answer);
    const told = h("p", { className: "told", id: `told-${id}` });
    const labelled = field(`Your answer to ${id}`, answer);
    answer.setAttribute("aria-describedby", told.id);
    const element = h("li", {}, h("p", {}, h("b", {}, `${ask}. `), words), run ? this.runner(id, run) : null, labelled, told);
    return { element, told, id };
  }

  /** A button that runs a student's scenario to the next moment at which there is something to do or to read. */
  private runner(id: string, run: TaskRun): HTMLElement {
    const go = h("button", { type: "button" }, `Run it under ${run.aqm}`);
    const told = h("span", { className: "soft", role: "status" });
    const tell = (text: string): void => {
      for (const place of [told, this.bar.firstChild!]) setText(place, text);
    };
    go.onclick = () => void attempt(go, async () => {
      if (!this.isOn(id, run)) await this.open(id, run);
      const stop = run.stops.find((each) => each > this.model.now + 1e-6)!;
      const next = run.stops[run.stops.indexOf(stop) + 1];
      this.showRun(go);
      tell(`Running until ${stop} s.`);
      const there = await this.model.until(stop);
      setText(go, there && next !== undefined ? `Continue to ${next} s` : `Run it under ${run.aqm}`);
      const todo = next === undefined ? "The means are below the curves, under Data" : "Make the change, then continue in the task";
      tell(there ? `Paused at ${stop} s. ${todo}.` : "Interrupted.");
    });
    return h("div", { className: "row" }, go, told);
  }

  /** Put the curves in sight where they stand below the lesson, with a way back to the button. */
  private showRun(go: HTMLElement): void {
    this.bar.hidden = false;
    this.back.onclick = () => go.closest("li")!.scrollIntoView();
    if (matchMedia("(max-width: 56rem)").matches) byId("curves").scrollIntoView();
  }

  /** Whether the run that is shown is that of a task, and has something to come. */
  private isOn(task: string, { stops }: TaskRun): boolean {
    const { running, model } = this;
    return running?.task === task && running.turn === model.turn && model.now < stops.at(-1)! - 1e-6;
  }

  private async open(task: string, { aqm, curve, scenario }: TaskRun): Promise<void> {
    this.watch(curve);
    await this.model.open({ text: scenario, name: this.lesson, aqms: [aqm], seed: 1, sample: SAMPLE });
    this.running = { task, turn: this.model.turn };
  }

  private async check(tasks: { id: string; told: HTMLElement; element: HTMLElement }[], told: HTMLElement, button: HTMLButtonElement): Promise<void> {
    button.disabled = true;
    setText(told, "Your runs are measured.");
    try {
      const { verdicts } = await this.ask<{ verdicts: Verdict[] }>("check");
      for (const { task, taken, told } of verdicts) {
        const { element, told: place } = tasks.find(({ id }) => id === task)!;
        element.className = taken ? "taken" : "refused";
        setText(place, `${taken ? "Accepted" : "Not yet"}: ${told}`);
      }
      setText(told, `${verdicts.filter(({ taken }) => taken).length} of ${verdicts.length} accepted.`);
    } catch (error) {
      setText(told, "");
      throw error;
    } finally {
      button.disabled = false;
    }
  }

  private keep(): void {
    this.kept.answers = { ...this.kept.answers, ...this.answers };
    try {
      localStorage.setItem(`exercise ${this.lesson}`, JSON.stringify(this.kept));
    } catch {
      // Where nothing may be stored, answers last as long as the page.
    }
  }
}

/** What the browser has kept of a sheet. */
function read(lesson: string): Kept {
  const none = { student: "", minutes: "45", answers: {} };
  try {
    return { ...none, ...(JSON.parse(localStorage.getItem(`exercise ${lesson}`) ?? "{}") as Partial<Kept>) };
  } catch {
    return none;
  }
}
