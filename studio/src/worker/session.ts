// The session of the page: the messages that a server would take, and its answers, as python/aqmlab/studio/session.py.

import type { Answer, Engine } from "../../../crates/wasm/engine.mjs";
import type { Said } from "../page";
import type { Layout, Mark, Message, Opened, Problem } from "../protocol";
import { BLAST } from "../quantities";
import { exported } from "./exports";
import { ask, Lanes, MOST, Refused, refused, type Setting } from "./lanes";
import { layout, type Described } from "./layout";
import { Player } from "./player";

type Asked = { type: string; id?: unknown; [field: string]: any };

const MARKS = 16;
/** Bytes that the lanes and marks may take, as estimated. */
const MOST_MEMORY = 5e8;

export class Session {
  private player: Player;
  private name = "";
  private marks = new Map<number, { name: string; lanes: Lanes }>();
  private marked = 0;

  /** `known` finds the text of a scenario by its name; `soon` lets something be done after the messages that wait. */
  constructor(
    private engine: Engine,
    private say: (said: Said, move?: Transferable[]) => void,
    private known: (name: string) => Promise<string>,
    soon: (act: () => void) => void,
  ) {
    const show: ConstructorParameters<typeof Player>[1] = (frame) => say({ frame }, [frame.values.buffer, frame.content.buffer]);
    this.player = new Player((message) => this.tell(message), show, soon);
  }

  /** Answer one message. */
  async take(message: Asked): Promise<void> {
    const id = message.id === undefined ? {} : { id: message.id };
    try {
      const answer = await this.answer(message);
      if (!answer) return;
      if (answer.type === "state") this.player.flush();
      this.tell({ ...answer, ...id });
      if (answer.type === "opened" || answer.type === "changed") this.player.flush();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.tell({ type: "problem", problems: error.problems, ...id });
    }
  }

  private tell(message: Message & { id?: unknown }): void {
    this.say({ message } as Said);
  }

  private async answer(message: Asked): Promise<Message | undefined> {
    const { player } = this;
    switch (message.type) {
      case "open":
        return this.open(message);
      case "play":
        player.play(message.until);
        return player.state();
      case "pause":
        player.pause();
        return player.state();
      case "step": {
        const lanes = player.opened();
        player.play(lanes.now + (message.span ?? lanes.sample), message.id);
        return undefined;
      }
      case "speed":
        player.speed = message.speed;
        player.anchor();
        return player.state();
      case "set":
        return this.change((lanes) => lanes.set(message.path, message.value, message.lane ?? null));
      case "halve":
        return this.change((lanes) => lanes.halve(message.group ? [message.group] : lanes.groups.filter((group) => group !== BLAST)));
      case "mark":
        return this.mark(message.name);
      case "unmark":
        this.marks.get(message.mark)?.lanes.close();
        this.marks.delete(message.mark);
        return this.allMarks();
      case "rewind":
        player.open(this.marks.get(message.mark)!.lanes.fork());
        return this.opened();
      case "export":
        return { type: "export", what: message.what, ...exported(player.opened(), message.what, message.lane ?? 0) };
      case "seen":
        player.heard(message.sequence);
    }
    return undefined;
  }

  private async open(message: Asked): Promise<Message> {
    const text: string = message.text ?? (await this.known(message.scenario ?? ""));
    const name: string = (message.text === undefined ? message.scenario : message.name) ?? "mine";
    const setting: Setting = {
      name, file: stem(name), text, aqms: message.aqms, seed: message.seed ?? 1, sample: message.sample, flows: message.flows,
      blast: message.blast ?? null,
    };
    const lanes = new Lanes(this.engine, setting);
    try {
      this.fits(lanes.memory, 0);
    } catch (error) {
      lanes.close();
      throw error;
    }
    this.name = name;
    for (const { lanes: marked } of this.marks.values()) marked.close();
    this.marks.clear();
    this.player.open(lanes);
    return this.opened();
  }

  private change(act: (lanes: Lanes) => void): Message {
    const lanes = this.player.opened();
    act(lanes);
    this.player.changed();
    return { type: "changed", now: lanes.now, epoch: this.player.epoch, columns: lanes.columns(), lanes: lanes.document() };
  }

  private mark(name: string): Message {
    const lanes = this.player.opened();
    if (this.marks.size >= MARKS) throw refused("mark", `${MARKS} marks are kept; remove one first`);
    this.fits(lanes.memory, lanes.memory);
    this.marks.set(++this.marked, { name, lanes: lanes.fork() });
    return this.allMarks();
  }

  private allMarks(): { type: "marks"; marks: Mark[] } {
    return { type: "marks", marks: [...this.marks].map(([mark, { name, lanes }]) => ({ mark, name, at: lanes.now })) };
  }

  private opened(): Opened {
    const lanes = this.player.opened();
    const { scenario, setting } = lanes;
    return {
      type: "opened", epoch: this.player.epoch, name: this.name, title: scenario.title, text: lanes.text, seed: setting.seed, now: lanes.now,
      end: lanes.end, warmup: scenario.warmup, sample: lanes.sample, ...layout(scenario), lanes: lanes.document(), columns: lanes.columns(),
      content: { links: lanes.links, groups: lanes.groups }, marks: this.allMarks().marks,
    };
  }

  private fits(lanes: number, more: number): void {
    const marked = [...this.marks.values()].reduce((sum, mark) => sum + mark.lanes.memory, 0);
    if (lanes + marked + more <= MOST_MEMORY) return;
    throw refused("memory", `more than ${MOST_MEMORY / 1e6} MB for the lanes and marks of this page: use fewer flows, lanes or marks`);
  }
}

/** What is wrong with a text and the schemes that are to run in it, or what is to be drawn of it. */
export function check(engine: Engine, { name, text, aqms }: { name: string; text: string; aqms: string[] }): { problems: Problem[]; opened?: Layout } {
  const described = (aqm: string | null, lane: number | null) => tried(() => ask(engine, { ask: "describe", scenario: text, name, aqm }, lane));
  const found = described(null, null);
  if (Array.isArray(found)) return { problems: found };
  const problems = aqms.slice(0, MOST).flatMap((aqm, lane) => {
    const answer = described(aqm, lane);
    return Array.isArray(answer) ? answer : [];
  });
  return { problems, opened: layout(found as unknown as Described) };
}

function tried(act: () => Answer): Answer | Problem[] {
  try {
    return act();
  } catch (error) {
    if (error instanceof Refused) return error.problems;
    throw error;
  }
}

/** What the file of a scenario is called when it is exported, without ending. */
export function stem(name: string): string {
  const kept = [...name.slice(0, 80)].map((letter) => (/[\p{L}\p{N}\-_.]/u.test(letter) ? letter : "-")).join("");
  return kept.replace(/^[-.]+|[-.]+$/g, "") || "mine";
}
