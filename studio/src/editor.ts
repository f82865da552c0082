// A scenario as text: a textarea with the numbers of its lines, errors marked at theirs.

import { debounce, h } from "./dom";
import type { Problem } from "./protocol";

export class Editor {
  readonly element: HTMLElement;
  private area = h("textarea", { id: "scenario-text", spellcheck: false, wrap: "off", autocapitalize: "off" });
  private gutter = h("div", { className: "gutter", "aria-hidden": "true" });
  private problems = h("ul", { className: "problems", id: "scenario-problems", "aria-live": "polite" });
  private asked = 0;

  constructor(
    private check: (text: string) => Promise<Problem[]>,
    private checked: (problems: Problem[]) => void,
    private typed: () => void,
  ) {
    this.area.setAttribute("aria-describedby", "scenario-problems");
    const label = h("label", { className: "label", htmlFor: "scenario-text" }, "Scenario (TOML)");
    this.element = h("div", {}, label, h("div", { className: "editor" }, this.gutter, this.area), this.problems);
    const soon = debounce(250, () => void this.judge());
    this.area.addEventListener("input", () => {
      this.number([]);
      this.typed();
      soon();
    });
    this.area.addEventListener("scroll", () => (this.gutter.scrollTop = this.area.scrollTop));
  }

  get text(): string {
    return this.area.value;
  }

  set text(text: string) {
    if (text === this.area.value) return;
    this.area.value = text;
    this.show([]);
  }

  /** Mark the lines of problems and list them below; a problem leads to its line. */
  show(problems: Problem[]): void {
    this.number(problems);
    this.area.setAttribute("aria-invalid", String(problems.length > 0));
    this.problems.replaceChildren(
      ...problems.map((problem) => {
        const where = problem.line === null ? "" : `Line ${problem.line}: `;
        const field = problem.field && !problem.message.includes(problem.field) ? `${problem.field}: ` : "";
        const text = `${where}${field}${problem.message}`;
        return h("li", {}, h("button", { className: "plain", type: "button", onclick: () => this.go(problem) }, text));
      }),
    );
  }

  private async judge(): Promise<void> {
    const turn = ++this.asked;
    const problems = await this.check(this.text);
    if (turn !== this.asked) return;
    this.show(problems);
    this.checked(problems);
  }

  private number(problems: Problem[]): void {
    const bad = new Set(problems.map((problem) => problem.line));
    const count = this.text.split("\n").length;
    const numbers: (string | Node)[] = [];
    for (let line = 1; line <= count; line++) numbers.push(bad.has(line) ? h("b", {}, String(line)) : String(line), "\n");
    this.gutter.replaceChildren(...numbers);
    this.gutter.scrollTop = this.area.scrollTop;
  }

  private go({ line, column, length }: Problem): void {
    if (line === null) return this.area.focus();
    const lines = this.text.split("\n");
    const begin = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0) + (column ?? 1) - 1;
    this.area.focus();
    this.area.setSelectionRange(begin, begin + (length ?? lines[line - 1]?.length ?? 0));
    const height = this.area.scrollHeight / lines.length;
    this.area.scrollTop = Math.max(0, (line - 5) * height);
  }
}
