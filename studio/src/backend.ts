// The half that simulates: a server, or a worker of the page. `#backend` is the one that a bundle is made with (package.json).

import type { Frame, Message, Request } from "./protocol";

/** Who hears what a session says. */
export interface Listener {
  message(message: Message & { id?: number }): void;
  frame(frame: Frame): void;
  /** It has ended. */
  lost(): void;
}

export interface Backend {
  /** Begin a session; what is returned takes the page's messages. */
  connect(listener: Listener): Promise<(message: Request & { id?: number }) => void>;
  /** The answer of a route, such as "catalogue"; some want a body. */
  fetch(route: string, body?: object): Promise<Response>;
  texts: {
    /** What to do when it has ended. */
    lost: string;
    /** Where a link opens. */
    link: string;
    /** What it cannot do; empty if there is nothing to say. */
    limits: string;
  };
}
