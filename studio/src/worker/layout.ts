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
  const onward = Array.from({ length: links }, () => new Set<number>());
  for (const path of paths) path.slice(1).forEach((after, i) => onward[path[i]!]!.add(after));
  const found = Array<number>(links).fill(0);
  const order = asLeft(paths.map((path) => path[0]!), onward).reverse();
  const ranks = new Map(order.map((link, rank) => [link, rank]));
  for (const link of order) {
    for (const after of onward[link]!) {
      if (ranks.get(after)! > ranks.get(link)!) found[after] = Math.max(found[after]!, found[link]! + 1);
    }
  }
  return found;
}

/** The links in the order in which a depth-first search leaves them: each after those beyond it. */
function asLeft(firsts: number[], onward: Set<number>[]): number[] {
  const seen = new Set<number>();
  const left: number[] = [];
  for (const first of firsts) {
    const way = seen.has(first) ? [] : [{ link: first, others: onward[first]!.values() }];
    seen.add(first);
    while (way.length > 0) {
      const { link, others } = way[way.length - 1]!;
      let next = others.next();
      while (!next.done && seen.has(next.value)) next = others.next();
      if (next.done) {
        left.push(link);
        way.pop();
      } else {
        seen.add(next.value);
        way.push({ link: next.value, others: onward[next.value]!.values() });
      }
    }
  }
  return left;
}
