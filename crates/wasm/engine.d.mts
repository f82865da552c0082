/** The engine: what can be asked is in src/questions.rs. */
export interface Engine {
  /** Answer a question; `problems` if it is refused. It returns when all is done, so a page asks in a worker. */
  ask(request: { ask: string; [field: string]: unknown }): Answer;
  /** Bytes that an answer says where to find. */
  bytes(start: number, count: number): ArrayBuffer;
  /** Run a scenario from start to end. */
  run(request: { scenario: string; name: string; [field: string]: unknown }): Answer;
}

export interface Answer {
  problems?: Problem[];
  [field: string]: any;
}

export interface Problem {
  path: string;
  reason: string;
  kind: string;
  line: number | null;
  column: number | null;
  length: number | null;
}

export function load(bytes: BufferSource): Promise<Engine>;
