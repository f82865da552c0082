// Colours that colour-blind readers can tell apart: Okabe-Ito and grey, as in every picture of aqmlab.

const PALETTE = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7f7f7f"];
const DASHES = [[], [8, 3], [8, 3, 2, 3], [2, 2], [10, 3, 2, 3, 2, 3], [2, 4], [14, 4], []];

/** What lines and letters of a canvas are drawn with; the page's own colours are in style.css. */
export const theme = { ink: "", soft: "", rule: "", band: "", paper: "", line: "", pale: "", target: "" };

function read(): void {
  const style = getComputedStyle(document.documentElement);
  for (const name of Object.keys(theme) as (keyof typeof theme)[]) theme[name] = style.getPropertyValue(`--${name}`).trim();
}

/** Read the colours of the page, now and whenever they change. */
export function followTheme(changed: () => void): void {
  read();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    read();
    changed();
  });
}

/** Colour of the i-th scheme; black is the ink of the page. */
export function schemeColour(i: number): string {
  const colour = PALETTE[i % PALETTE.length]!;
  return colour === "#000000" ? theme.ink : colour;
}

/** Dashes of the i-th scheme, which tell lines apart without colour. */
export const schemeDash = (i: number): number[] => DASHES[i % DASHES.length]!;

/** Colour of the i-th group of flows: the same palette, begun where schemes are rarely. */
export const groupColour = (i: number): string => schemeColour([2, 4, 3, 5, 1, 0, 7, 6][i % 8]!);
