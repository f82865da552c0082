// Numbers for people: axes that grow by round steps, values with their units.

const STEPS = [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10];

/** The least round number that is not below `value`. */
export function roundUp(value: number): number {
  if (!(value > 0) || !Number.isFinite(value)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return power * STEPS.find((step) => step * power >= value * (1 - 1e-4))!;
}

/** A number of about three digits, without needless zeros. */
export function short(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size >= 1000) return Math.round(value).toLocaleString("en");
  if (size >= 100) return value.toFixed(0);
  if (size >= 10) return value.toFixed(1);
  if (size >= 1) return value.toFixed(2);
  if (size === 0) return "0";
  if (size >= 0.1) return value.toFixed(3);
  return size >= 0.001 ? String(Number(value.toPrecision(3))) : value.toExponential(1);
}

/** The values along a slider of `steps` equal steps, which multiply where it is logarithmic, and the step nearest a value. */
export function slide(low: number, high: number, steps: number, logarithmic: boolean): { at: (step: number) => number; near: (value: number) => number } {
  if (!logarithmic) {
    const span = high - low;
    return { at: (step) => low + (span * step) / steps, near: (value) => Math.round((steps * (value - low)) / span) };
  }
  const ratio = high / low;
  return {
    at: (step) => low * ratio ** (step / steps),
    near: (value) => Math.round((steps * Math.log(value / low)) / Math.log(ratio)),
  };
}

/** Simulated time: "12.3 s". */
export const seconds = (time: number): string => `${time < 100 ? time.toFixed(1) : time.toFixed(0)} s`;
