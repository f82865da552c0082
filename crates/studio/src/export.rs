//! Files of a session: the scenario with the changes by hand, commands that repeat it, results, time series.

use crate::error::Refusal;
use crate::messages::{Exported, Message, written};
use aqmlab_core::Problems;
use aqmlab_scenario::{SchemeAssignment, parse};
use aqmlab_sim::{Options, Output, RunError, RunResult, Series, Watch, run};
use serde_json::Value;
use std::sync::Arc;

/// The files that a page may ask for.
pub(crate) const KINDS: [&str; 5] = ["toml", "command", "json", "csv", "report"];
/// Digits of a number in a table.
const DIGITS: usize = 9;

/// A session to be exported: for each lane its scheme, its scenario with the changes, and its result at the end.
#[derive(Clone)]
pub struct Recording {
    /// Name of the scenario.
    pub name: String,
    /// Seed of all random streams.
    pub seed: u64,
    /// The present, s.
    pub now: f64,
    /// The scheme of each lane; `None` for those that the scenario has.
    pub aqms: Vec<Option<SchemeAssignment>>,
    /// The scenario of each lane with the changes by hand.
    pub tomls: Vec<String>,
    /// The result of each lane, at the end.
    pub(crate) results: Vec<Option<RunResult>>,
}

/// A file for a page to save: name, media type, content.
pub type ExportedFile = (String, String, String);

impl Recording {
    /// True if all lanes have the same scenario.
    pub fn is_one(&self) -> bool {
        self.tomls.iter().all(|toml| *toml == self.tomls[0])
    }

    /// The name of the files of a lane, without ending.
    pub fn stem(&self, lane: usize) -> String {
        if self.is_one() { self.name.clone() } else { format!("{}-{}", self.name, lane + 1) }
    }

    /// The result of a lane, as a run of its file has it; `None` before the end.
    pub fn result(&self, lane: usize) -> Option<RunResult> {
        self.results[lane].clone().map(|result| RunResult { scenario: self.stem(lane), ..result })
    }

    /// The run of a lane from start to end.
    fn again(&self, lane: usize, series: bool, watch: Option<Arc<Watch>>) -> Result<Output, RunError> {
        let aqm = self.aqms[lane].clone();
        let scenario = parse(&self.tomls[lane], &self.stem(lane), &[])?;
        run(scenario, Options { aqm, seed: self.seed, series, watch, threads: 1, ..Options::default() })
    }

    /// The commands that repeat what was done, for the files that are exported.
    fn commands(&self) -> String {
        let command = |(lane, aqm): (usize, &Option<SchemeAssignment>)| {
            let aqm = aqm.as_ref().map_or(String::new(), |aqm| format!(" --aqm {}", quoted(&aqm.to_string())));
            format!("aqmlab run {}{aqm} --seed {} --json\n", quoted(&format!("{}.toml", self.stem(lane))), self.seed)
        };
        self.aqms.iter().enumerate().map(command).collect()
    }
}

/// A request for a file. The host makes the file.
pub struct ExportRequest {
    /// The session.
    pub recording: Recording,
    /// The kind of file: `toml`, `command`, `json`, `csv` or `report`.
    pub what: &'static str,
    /// The lane whose file it is.
    pub lane: usize,
    /// The id of the request.
    pub id: Value,
}

impl ExportRequest {
    /// True if the scenario runs again for it.
    pub fn runs(&self) -> bool {
        self.what == "csv" || self.what == "json" && self.recording.results[self.lane].is_none()
    }

    /// The file, but a report, which needs Python. The watch can end a run.
    ///
    /// # Errors
    /// If the run has no result, or it is a report.
    pub fn file(&self, watch: Option<Arc<Watch>>) -> Result<ExportedFile, RunError> {
        let Self { recording, lane, .. } = self;
        let stem = recording.stem(*lane);
        let (name, media, text) = match self.what {
            "toml" => (format!("{stem}.toml"), "application/toml", recording.tomls[*lane].clone()),
            "command" => (format!("{}.sh", recording.name), "text/x-shellscript", recording.commands()),
            "csv" => {
                let output = recording.again(*lane, true, watch)?;
                (format!("{stem}.csv"), "text/csv", table(&output.series, recording.now))
            }
            "json" => {
                let result = recording
                    .result(*lane)
                    .map_or_else(|| Ok(recording.again(*lane, false, watch)?.result), Ok::<_, RunError>)?;
                (format!("{stem}.json"), "application/json", result.json() + "\n")
            }
            _ => {
                let why = "requires Python: save the scenario and give it to `aqmlab compare --out`";
                return Err(Problems::one("report", why).into());
            }
        };
        Ok((name, media.to_string(), text))
    }

    /// The message with the file.
    pub fn answer(&self, file: Result<ExportedFile, RunError>) -> String {
        let message = match file {
            Ok((name, media, text)) => Message::Export(Exported { what: self.what, name, media, text }),
            Err(error) => Message::Problem { problems: Refusal::from(error).shown() },
        };
        written(&message, &self.id)
    }
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_@%+=:,./-".contains(letter);
    if word.chars().all(is_plain) { word.to_string() } else { format!("'{}'", word.replace('\'', r#"'"'"'"#)) }
}

/// A row for each sample up to a time: the time, then each link's columns under `link.column`.
fn table(series: &[Series], until: f64) -> String {
    let named = series.iter().flat_map(|of| of.columns.iter().map(move |(name, values)| (&of.link, name, values)));
    let (times, columns): (Vec<_>, Vec<_>) = named.partition(|(_, name, _)| *name == "time");
    let head: Vec<String> = columns.iter().map(|(link, name, _)| format!(",{link}.{name}")).collect();
    let rows = times[0].2.iter().enumerate().filter(|(_, time)| **time <= until).map(|(i, time)| {
        let values = columns.iter().map(|(_, _, values)| general(values[i], DIGITS));
        std::iter::once(general(*time, DIGITS)).chain(values).collect::<Vec<_>>().join(",") + "\n"
    });
    format!("time{}\n{}", head.concat(), rows.collect::<String>())
}

/// A number as C's `%.9g` writes it, for so many digits.
pub fn general(number: f64, digits: usize) -> String {
    let scientific = format!("{number:.*e}", digits - 1);
    let Some((mantissa, exponent)) = scientific.split_once('e') else { return scientific.to_lowercase() };
    let short = |text: &str| text.trim_end_matches('0').trim_end_matches('.').to_string();
    match exponent.parse::<i32>().unwrap_or(0) {
        exponent if exponent < -4 || exponent >= digits as i32 => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{}e{sign}{:02}", short(mantissa), exponent.abs())
        }
        exponent => match format!("{number:.*}", (digits as i32 - 1 - exponent) as usize) {
            whole if !whole.contains('.') => whole,
            fraction => short(&fraction),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_by_c() {
        let cases = [
            (0.0, "0"),
            (1.0 / 3.0, "0.333333333"),
            (5.0, "5"),
            (1e-5, "1e-05"),
            (123_456_789.0, "123456789"),
            (1.5e9, "1.5e+09"),
            (0.0001, "0.0001"),
            (-2.5, "-2.5"),
            (f64::NAN, "nan"),
            (100.0, "100"),
            (999_999_999.6, "1e+09"),
        ];
        for (number, text) in cases {
            assert_eq!(general(number, 9), text);
        }
    }

    #[test]
    fn files_are_cut_at_the_present_and_commands_quoted() {
        let columns = [("time", vec![0.0, 1.0, 2.0]), ("queue", vec![1.0 / 3.0, f64::NAN, 5.0])];
        let columns = columns.map(|(name, values)| (name.to_string(), values)).to_vec();
        assert_eq!(table(&[Series { link: "up".into(), columns }], 1.0), "time,up.queue\n0,0.333333333\n1,nan\n");
        assert_eq!(quoted("it's.toml"), r#"'it'"'"'s.toml'"#);
        assert_eq!(quoted("codel:target=8ms@up+pie@down"), "codel:target=8ms@up+pie@down");
    }
}
