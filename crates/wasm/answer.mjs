// Answers requests, one a line: `node answer.mjs aqmlab_engine.wasm < requests > answers`.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { load } from "./engine.mjs";

const engine = await load(readFileSync(process.argv[2]));
for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(engine.run(JSON.parse(line))));
}
