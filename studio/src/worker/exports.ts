// The files that can be saved of a session: as python/aqmlab/studio/export.py, but the report, which needs Python.

import type { Answer } from "../../../crates/wasm/engine.mjs";
import { refused, type Lanes } from "./lanes";

interface File {
  name: string;
  media: string;
  text: string;
}

export function exported(lanes: Lanes, what: string, lane: number): File {
  const tomls = Array.from({ length: lanes.count }, (_, i) => lanes.toml(i));
  const isOne = new Set(tomls).size === 1;
  const { file: name, seed, aqms } = lanes.setting;
  const stem = (i: number): string => (isOne ? name : `${name}-${i + 1}`);
  switch (what) {
    case "toml":
      return { name: `${stem(lane)}.toml`, media: "application/toml", text: tomls[lane]! };
    case "command": {
      const lines = aqms.map((aqm, i) => ["aqmlab", "run", `${stem(i)}.toml`, ...(aqm ? ["--aqm", aqm] : []), "--seed", String(seed), "--json"]);
      return { name: `${name}.sh`, media: "text/x-shellscript", text: lines.map((words) => `${words.map(quoted).join(" ")}\n`).join("") };
    }
    case "json": {
      const found: Answer = lanes.result(lane) ?? lanes.again(lane, stem(lane), false).result;
      return { name: `${stem(lane)}.json`, media: "application/json", text: `${JSON.stringify({ ...found, scenario: stem(lane) })}\n` };
    }
    case "csv": {
      const { series } = lanes.again(lane, stem(lane), true);
      return { name: `${stem(lane)}.csv`, media: "text/csv", text: csv(series, lanes.now) };
    }
  }
  throw refused("report", "requires Python: save the scenario and give it to `aqmlab compare --out`");
}

/** A row a sample up to a time: the time, then each link's columns under `link.column`. */
export function csv(series: Record<string, Record<string, (number | null)[]>>, until: number): string {
  const links = Object.entries(series);
  const time = links[0]![1].time!;
  const columns: [string, (number | null)[]][] = links.flatMap(([link, found]) =>
    Object.entries(found).filter(([name]) => name !== "time").map(([name, values]): [string, (number | null)[]] => [`${link}.${name}`, values]),
  );
  const rows = time.flatMap((at, i) => (at !== null && at <= until ? [[at, ...columns.map(([, values]) => values[i]!)]] : []));
  const lines = [["time", ...columns.map(([name]) => name)], ...rows.map((row) => row.map(number))];
  return lines.map((line) => `${line.join(",")}\n`).join("");
}

const number = (value: number | null): string => (value === null ? "nan" : String(Number(value.toPrecision(9))));

/** A word as a shell reads it. */
const quoted = (word: string): string => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`);
