// Bundles the tests in test/ and runs them: says what failed, or how many passed.
import { build } from "esbuild";
import { readdir, rm } from "node:fs/promises";
import { run } from "node:test";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const out = `${here}node_modules/.tests`;
const tests = (await readdir(`${here}test`)).filter((name) => name.endsWith(".test.ts"));
await rm(out, { recursive: true, force: true });
await build({
  absWorkingDir: here,
  entryPoints: tests.map((name) => `test/${name}`),
  outdir: out,
  outExtension: { ".js": ".mjs" },
  bundle: true,
  platform: "node",
  format: "esm",
  sourcemap: "inline",
});

let passed = 0;
for await (const { type, data } of run({ files: tests.map((name) => `${out}/${name.replace(/ts$/, "mjs")}`), concurrency: true })) {
  if (type === "test:pass") passed++;
  else if (type === "test:fail") {
    console.error(`${data.name}\n`, data.details.error.cause ?? data.details.error);
    process.exitCode = 1;
  } else if (type === "test:stderr" || type === "test:stdout") process.stderr.write(data.message);
}
if (!process.exitCode) console.log(`${passed} tests of the studio passed`);
