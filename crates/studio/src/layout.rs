//! The drawing of a scenario: its links from left to right, and the groups of flows that cross them.

use crate::messages::{Group, Layout, Link};
use aqmlab_scenario::{Distribution, Scenario};
use serde_json::Value;
use std::collections::BTreeSet;

/// The links and groups of a scenario; quantities as texts with their units, and in numbers.
pub fn layout(scenario: &Scenario) -> Layout {
    let resolved = scenario.resolved();
    let (links, flows) = (items(&resolved["links"]), items(&resolved["flows"]));
    let columns = columns_of(&flows.iter().map(|group| path(&group["path"])).collect::<Vec<_>>(), links.len());
    let names: Vec<String> = links.iter().map(|link| text(&link["name"])).collect();
    let named = |of: &Value| path(of).into_iter().map(|link| names[link].clone()).collect();
    let link = |((shown, x), (name, place)): ((&Value, usize), (&str, usize))| {
        let spec = &scenario.links[place];
        Link {
            name: name.to_string(),
            x,
            rate: spec.rate.0,
            rate_text: shown["rate"].as_str().unwrap_or("varies").to_string(),
            packets: spec.buffer_packets,
            target_packets: spec.target,
            delay: text(&shown["delay"]),
            buffer: text(&shown["buffer"]),
            target: text(&shown["target"]),
            ecn: spec.ecn,
            aqm: text(&shown["aqm"]),
            fixed: spec.fixed,
        }
    };
    let groups = scenario.flows.iter().zip(flows).map(|(spec, shown)| Group {
        name: spec.name.clone(),
        kind: spec.traffic.kind().to_string(),
        count: spec.count(),
        rtt: if let Distribution::Fixed(span) = &spec.rtt { Some(span.seconds()) } else { None },
        rtt_text: text(&shown["rtt"]),
        path: named(&shown["path"]),
        ack_path: named(&shown["ack_path"]),
        ecn: spec.ecn.is_capable(),
        law: shown["tcp"]["congestion_control"].as_str().map(|law| law.split(':').next().unwrap_or(law).to_string()),
        rate: spec.traffic.rate().map(|rate| rate.0),
        start: text(&shown["groups"][0]["start"]),
        stop: shown["groups"][0]["stop"].as_str().map(str::to_string),
    });
    let groups = groups.collect();
    Layout { links: links.iter().zip(columns).zip(scenario.places()).map(link).collect(), groups }
}

fn items(of: &Value) -> &[Value] {
    of.as_array().map_or(&[], Vec::as_slice)
}

fn text(of: &Value) -> String {
    of.as_str().map_or_else(|| of.to_string(), str::to_string)
}

fn path(of: &Value) -> Vec<usize> {
    items(of).iter().filter_map(Value::as_u64).map(|link| link as usize).collect()
}

/// The column of each link: to the right of those that packets cross before it, circles aside.
pub fn columns_of(paths: &[Vec<usize>], links: usize) -> Vec<usize> {
    let mut onward = vec![Vec::new(); links];
    let mut pairs = BTreeSet::new();
    for pair in paths.iter().flat_map(|path| path.windows(2)).filter(|pair| pairs.insert((pair[0], pair[1]))) {
        onward[pair[0]].push(pair[1]);
    }
    let order = left(paths.iter().filter_map(|path| path.first()), &onward);
    let mut ranks = vec![0; links];
    order.iter().rev().enumerate().for_each(|(rank, link)| ranks[*link] = rank);
    let mut found = vec![0; links];
    for link in order.into_iter().rev() {
        for after in onward[link].iter().filter(|after| ranks[**after] > ranks[link]) {
            found[*after] = found[*after].max(found[link] + 1);
        }
    }
    found
}

/// The links in the order in which a depth-first search leaves them: each after those beyond it.
fn left<'a>(firsts: impl Iterator<Item = &'a usize>, onward: &[Vec<usize>]) -> Vec<usize> {
    let (mut seen, mut left) = (vec![false; onward.len()], Vec::new());
    for first in firsts {
        let mut stack = Vec::new();
        if !std::mem::replace(&mut seen[*first], true) {
            stack.push((*first, onward[*first].iter()));
        }
        while let Some((link, others)) = stack.last_mut() {
            match others.find(|other| !seen[**other]) {
                Some(next) => {
                    seen[*next] = true;
                    stack.push((*next, onward[*next].iter()));
                }
                None => {
                    left.push(*link);
                    stack.pop();
                }
            }
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_stand_right_of_those_before_them() {
        assert_eq!(columns_of(&[vec![0, 2], vec![2, 1]], 3), [0, 2, 1]);
        assert_eq!(columns_of(&[vec![0, 1], vec![1, 0]], 2), [0, 1], "a circle is cut");
        assert_eq!(columns_of(&[], 2), [0, 0]);
    }

    #[test]
    fn many_links_take_no_stack_and_no_square_of_their_number() {
        let many = 200_000;
        let row: Vec<Vec<usize>> = (0..many).map(|i| (i..many.min(i + 9)).collect()).collect();
        assert_eq!(columns_of(&row, many), (0..many).collect::<Vec<_>>());
        let circle: Vec<Vec<usize>> = (0..many).map(|i| (0..9).map(|k| (i + k) % many).collect()).collect();
        assert_eq!(columns_of(&circle, many).into_iter().max(), Some(many - 1));
    }
}
