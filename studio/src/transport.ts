// Time: play, pause, step, how fast, marks to come back to.

import { h, setText } from "./dom";
import { announce } from "./notice";
import type { Model } from "./model";
import { seconds, short } from "./scale";

const SPEEDS: [string, string][] = [
  ["0.1", "0.1×"], ["1", "1× real time"], ["2", "2×"], ["5", "5×"], ["10", "10×"], ["30", "30×"], ["100", "100×"], ["", "as fast as possible"],
];

export class Transport {
  private play = h("button", { type: "button", className: "first", title: "Space" }, "Play");
  private stepping = h("button", { type: "button", title: "S" }, "Step");
  private time = document.createTextNode("");
  private rest = h("small");
  private progress = h("progress", { max: 1, value: 0, "aria-label": "Simulated time" });
  private speed = h("select", { "aria-label": "Speed", title: "+ and −" });
  private mark = h("button", { type: "button", title: "M" }, "Mark");
  private marks = h("select", { "aria-label": "Rewind to a mark", title: "R rewinds to the latest" });

  constructor(host: HTMLElement, private model: Model) {
    this.speed.append(...SPEEDS.map(([value, text]) => h("option", { value }, text)));
    this.play.onclick = () => void this.toggle();
    this.stepping.onclick = () => void this.step();
    this.mark.onclick = () => void this.setMark();
    this.speed.onchange = () => void announce(() => model.setSpeed(this.speed.value === "" ? null : Number(this.speed.value)));
    this.marks.onchange = () => void this.rewind(Number(this.marks.value));
    host.append(this.play, this.stepping, h("span", { className: "clock" }, this.time, this.rest), this.progress, this.speed, this.mark, this.marks);
    model.on(["state", "opened"], () => this.show());
    model.on(["frame"], () => this.tick());
    model.on(["marks"], () => this.list());
    this.list();
  }

  toggle(): Promise<unknown> {
    const { model } = this;
    if (model.lost) return Promise.resolve();
    if (model.playing) return announce(() => model.pause());
    return announce(() => (model.ended ? model.open(model.opening).then(() => model.play()) : model.play()));
  }

  step(): Promise<unknown> {
    return announce(() => this.model.step());
  }

  setMark(): Promise<unknown> {
    return announce(() => this.model.mark(`${this.model.now.toFixed(2)} s`));
  }

  /** Rewind to a mark, by default to the latest. */
  rewind(mark = this.model.marks.at(-1)?.mark): Promise<unknown> {
    if (mark === undefined) return Promise.resolve();
    return announce(() => this.model.rewind(mark));
  }

  /** The next faster or slower speed. */
  faster(by: 1 | -1): void {
    this.speed.selectedIndex = Math.max(0, Math.min(SPEEDS.length - 1, this.speed.selectedIndex + by));
    this.speed.dispatchEvent(new Event("change"));
  }

  private show(): void {
    const { playing, ended, speed, lost } = this.model;
    this.play.disabled = this.mark.disabled = this.speed.disabled = lost;
    this.marks.disabled = lost || !this.model.marks.length;
    setText(this.play, playing ? "Pause" : ended ? "Again" : "Play");
    this.stepping.disabled = playing || ended || lost;
    this.speed.value = speed === null ? "" : String(speed);
    this.tick();
  }

  private tick(): void {
    const { now, run, playing, measured } = this.model;
    if (!run) return;
    const how = playing && measured > 0 ? `, ${short(measured)}×` : "";
    setText(this.time, `${now.toFixed(run.sample < 0.1 ? 2 : 1)} s`);
    setText(this.rest, ` of ${seconds(run.end)}${how}`);
    this.progress.value = now / run.end;
  }

  private list(): void {
    const { marks } = this.model;
    const title = marks.length ? "Rewind to…" : "No marks";
    this.marks.replaceChildren(
      h("option", { value: "", disabled: true, selected: true }, title),
      ...marks.map(({ mark, name }) => h("option", { value: String(mark) }, name)),
    );
    this.marks.disabled = !marks.length;
  }
}
