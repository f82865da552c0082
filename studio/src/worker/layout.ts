// The drawing of a scenario: as python/aqmlab/studio/layout.py, from what the engine describes.

import type { Layout } from "../protocol";

/** A scenario as the engine describes it: defaults filled in, links and groups in numbers too. */
export interface Described {
  name: string;
  title: string;
  resolved: { links: Record<string, any>[]; flows: Record<string, any>[] };
  duration: number;
  warmup: number;
  sample: number;
  links: { name: string; rate: number; delay: number; packets: number; target_packets: number }[];
  groups: { name: string; kind: string; count: number; rtt: number | null; ecn: boolean; rate: number | null }[];
}

export function layout({ resolved, links, groups }: Described): Layout {
  const columns = columnsOf(resolved.flows.map(({ path }) => path as number[]), links.length);
  const named = (path: number[] | undefined) => (path ?? []).map((link) => links[link]!.name);
  return {
    links: resolved.links.map(({ delay, buffer, target, ecn, aqm, fixed, rate }, i) => {
      const { name, rate: number, packets, target_packets } = links[i]!;
      const rate_text = typeof rate === "string" ? rate : "varies";
      return { name, x: columns[i]!, rate: number, rate_text, packets, target_packets, delay, buffer, target, ecn, aqm, fixed };
    }),
    groups: resolved.flows.map((group, i) => ({
      ...groups[i]!,
      rtt_text: group.rtt,
      path: named(group.path),
      ack_path: named(group.ack_path),
      law: group.tcp ? String(group.tcp.congestion_control).split(":")[0]! : null,
      start: group.groups[0].start,
      stop: group.groups[0].stop,
    })),
  };
}

/** The column of each link: to the right of those that packets cross before it, circles aside. */
export function columnsOf(paths: number[][], links: number): number[] {
  const found = Array<number>(links).fill(0);
  for (let turn = 0; turn < links; turn++) {
    for (const path of paths) {
      for (const [i, after] of path.slice(1).entries()) {
        found[after] = Math.min(Math.max(found[after]!, found[path[i]!]! + 1), links - 1);
      }
    }
  }
  return found;
}
