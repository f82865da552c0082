// Makes the page that needs no server: `npm run page -- FOLDER`, where the engine and data/ are already.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const out = resolve(process.argv[2]);
const POLICY =
  "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; " +
  "worker-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'";

await build({
  absWorkingDir: here,
  entryPoints: [
    { in: "src/main.ts", out: "studio" },
    { in: "src/worker/main.ts", out: "worker" },
    { in: "src/element.ts", out: "aqmlab-queue" },
    { in: "src/style.css", out: "studio" },
    { in: "src/icon.svg", out: "icon" },
  ],
  outdir: out,
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  conditions: ["page"],
  loader: { ".svg": "copy" },
  legalComments: "eof",
});

const head = `<meta http-equiv="Content-Security-Policy" content="${POLICY}">\n<link rel="manifest" href="manifest.json">`;
const index = await readFile(join(here, "src/index.html"), "utf8");
await writeFile(join(out, "index.html"), index.replaceAll("/static/", "").replace('<meta charset="utf-8">', `$&\n${head}`));
const icons = [{ src: "icon.svg", sizes: "any", type: "image/svg+xml" }];
const manifest = { name: "AQM studio", short_name: "AQM studio", start_url: ".", scope: ".", display: "standalone", icons };
await writeFile(join(out, "manifest.json"), JSON.stringify(manifest));

// What a page that is opened offline needs, under a name that is another one whenever a file is.
const found = await readdir(out, { recursive: true, withFileTypes: true });
const files = found.filter((each) => each.isFile() && each.name !== "sw.js").map((each) => join(each.parentPath, each.name).slice(out.length + 1)).sort();
const digest = createHash("sha256");
for (const file of files) digest.update(await readFile(join(out, file)));
const worker = await readFile(join(here, "src/offline.js"), "utf8");
await writeFile(join(out, "sw.js"), `const NAME = "studio-${digest.digest("hex").slice(0, 16)}";\nconst FILES = ${JSON.stringify(["./", ...files])};\n${worker}`);
