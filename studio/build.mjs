// Bundles the front end into the Python package; with --check says whether what is there is current.
import { build } from "esbuild";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, relative } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = `${here}/../python/aqmlab/studio/static`;
const { outputFiles } = await build({
  absWorkingDir: here,
  entryPoints: [
    { in: "src/main.ts", out: "studio" },
    { in: "src/style.css", out: "studio" },
    { in: "src/index.html", out: "index" },
    { in: "src/icon.svg", out: "icon" },
  ],
  outdir: out,
  bundle: true,
  minify: true,
  target: "es2022",
  loader: { ".html": "copy", ".svg": "copy" },
  legalComments: "eof",
  write: false,
});

const stale = [];
for (const { path, contents } of outputFiles) {
  const there = await readFile(path).catch(() => null);
  if (there?.equals(contents)) continue;
  stale.push(relative(process.cwd(), path));
  if (process.argv.includes("--check")) continue;
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, contents);
}
if (process.argv.includes("--check") && stale.length) {
  console.error(`${stale.join(", ")}: not what studio/src gives; run \`make studio\` and commit the result`);
  process.exit(1);
}
