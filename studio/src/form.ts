// Fields made from declarations: a name, what is accepted, what it means.

import { h } from "./dom";
import type { Parameter } from "./protocol";
import { slide } from "./scale";
import { Refused } from "./session";

let made = 0;

/** A labelled control with a line of explanation and a place for what is wrong. */
export function field(label: string, control: HTMLElement, about = ""): HTMLElement {
  const id = `field-${++made}`;
  control.id = id;
  const hint = about ? h("div", { className: "soft", id: `${id}-about` }, about) : null;
  if (hint) control.setAttribute("aria-describedby", hint.id);
  return h("div", { className: "field" }, h("label", { htmlFor: id }, label), control, hint);
}

/** Do what a control asks for; where that is refused, say so below the control. */
export async function attempt(control: HTMLElement, act: () => Promise<unknown>): Promise<boolean> {
  const place = control.closest(".field, .row, .scheme") ?? control;
  place.parentElement?.querySelector(`[data-of="${control.id}"]`)?.remove();
  control.removeAttribute("aria-invalid");
  try {
    await act();
    return true;
  } catch (error) {
    control.setAttribute("aria-invalid", "true");
    const text = error instanceof Refused ? error.message : String((error as Error).message);
    place.after(h("p", { className: "problem", role: "alert", "data-of": control.id }, text));
    return false;
  }
}

/** A field for a parameter as it is now; `commit` gets the text typed, with its unit. */
export function parameterField(parameter: Parameter, value: string | undefined, commit: (text: string) => Promise<unknown>): HTMLElement {
  const choices = parameter.choices;
  const control = choices
    ? h("select", {}, ...choices.map((choice) => h("option", { value: choice }, choice)))
    : h("input", { type: "text", placeholder: parameter.default, spellcheck: false, autocomplete: "off" });
  control.value = value ?? (choices ? parameter.default : "");
  control.addEventListener("change", () => void attempt(control, () => commit(control.value.trim() || parameter.default)));
  const range = parameter.range ? ` ${parameter.range[0]} to ${parameter.range[1]}; default ${parameter.default}.` : ` Default ${parameter.default}.`;
  return field(parameter.name, control, parameter.doc + range);
}

/** A slider with the value beside it as text; the value is sent when the slider is let go. */
export interface Knob {
  label: string;
  value: number;
  low: number;
  high: number;
  /** Equal steps multiply. */
  logarithmic?: boolean;
  /** How a number is written for the server, and read by people. */
  write: (value: number) => string;
  commit: (text: string) => Promise<unknown>;
}

const STEPS = 200;

export function knob({ label, value, low, high, logarithmic = false, write, commit }: Knob): { element: HTMLElement; set: (value: number) => void } {
  const { at, near } = slide(low, high, STEPS, logarithmic);
  const slider = h("input", { type: "range", min: 0, max: STEPS, "aria-label": label });
  const text = h("input", { type: "text", className: "value", spellcheck: false, autocomplete: "off" });
  const written = () => write(at(Number(slider.value)));
  const speak = () => slider.setAttribute("aria-valuetext", text.value);
  const set = (number: number) => {
    [slider.value, text.value] = [String(near(number)), write(number)];
    speak();
  };
  set(value);
  slider.addEventListener("input", () => {
    text.value = written();
    speak();
  });
  slider.addEventListener("change", () => void attempt(text, () => commit(written())));
  text.addEventListener("change", () => void attempt(text, () => commit(text.value.trim())));
  const element = field(label, text);
  element.classList.add("knob");
  element.append(slider);
  return { element, set };
}
