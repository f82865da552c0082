// The server that `aqmlab studio` starts: routes, and a WebSocket for each session.

import type { Backend } from "./backend";
import { readFrame } from "./protocol";

export const backend: Backend = {
  connect(listener) {
    const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/session`);
    socket.binaryType = "arraybuffer";
    socket.onmessage = ({ data }) => {
      if (data instanceof ArrayBuffer) listener.frame(readFrame(data));
      else listener.message(JSON.parse(data));
    };
    socket.onclose = () => listener.lost();
    const say = (message: object) => {
      if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
    };
    return new Promise((resolve, reject) => {
      socket.onopen = () => resolve(say);
      socket.onerror = () => reject(new Error("The server refuses the connection: open the address that `aqmlab studio` prints."));
    });
  },

  fetch(route, body) {
    if (!body) return fetch(`/api/${route}`);
    return fetch(`/api/${route}`, { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" } });
  },

  texts: {
    lost: "The server has stopped. The curves stay; restart `aqmlab studio` to continue.",
    link: "It opens in this studio while the studio runs. In any other studio, paste it below.",
    limits: "",
  },
};
