//! `aqmlab-quic SCENARIO.toml [--aqm NAME] [--seed N] [--set PATH=VALUE]... [--qlog DIR]` prints the result that `aqmlab run --json` prints, of a
//! scenario with flows of kind `quic`.

use aqmlab_quic::{QuicError, run};
use aqmlab_scenario::{SchemeAssignment, parse_file};
use aqmlab_sim::Options;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "aqmlab-quic SCENARIO.toml [--aqm NAME] [--seed N] [--set PATH=VALUE]... [--qlog DIR]";

/// What was typed.
#[derive(Default)]
struct Arguments {
    scenario: String,
    options: Options,
    set: Vec<(String, String)>,
    qlog: Option<PathBuf>,
}

impl Arguments {
    fn read(mut given: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut read = Self { options: Options { seed: 1, ..Options::default() }, ..Self::default() };
        while let Some(argument) = given.next() {
            let mut value = || given.next().ok_or_else(|| format!("{argument}: missing; {USAGE}"));
            match argument.as_str() {
                "--aqm" => {
                    read.options.aqm = Some(SchemeAssignment::parse(&value()?).map_err(|why| format!("aqm: {why}"))?)
                }
                "--seed" => {
                    let text = value()?;
                    read.options.seed = text.parse().map_err(|_| format!("seed: \"{text}\" is not a whole number"))?;
                }
                "--set" => {
                    let text = value()?;
                    let (path, value) = text.split_once('=').ok_or_else(|| format!("set: {text}: write PATH=VALUE"))?;
                    read.set.push((path.into(), value.into()));
                }
                "--qlog" => read.qlog = Some(value()?.into()),
                other if other.starts_with('-') => return Err(format!("{other}: unknown option; {USAGE}")),
                _ if read.scenario.is_empty() => read.scenario = argument,
                other => return Err(format!("{other}: one scenario at a time; {USAGE}")),
            }
        }
        if read.scenario.is_empty() { Err(format!("scenario: missing; {USAGE}")) } else { Ok(read) }
    }
}

fn main() -> ExitCode {
    match done() {
        Ok(result) => {
            println!("{result}");
            ExitCode::SUCCESS
        }
        Err((code, why)) => {
            eprintln!("QuicError: {why}");
            ExitCode::from(code)
        }
    }
}

fn done() -> Result<String, (u8, String)> {
    let Arguments { scenario: file, options, set, qlog } =
        Arguments::read(std::env::args().skip(1)).map_err(|why| (2, why))?;
    let text = std::fs::read_to_string(&file).map_err(|why| (2, format!("scenario: {file}: {why}")))?;
    let name = Path::new(&file).file_stem().map_or(file.clone(), |stem| stem.to_string_lossy().into_owned());
    let scenario = parse_file(&text, &name, &file, &set).map_err(|why| (2, why.to_string()))?;
    scenario.check_schemes(options.aqm.as_ref()).map_err(|why| (2, why.to_string()))?;
    if let Some(folder) = &qlog {
        std::fs::create_dir_all(folder).map_err(|why| (2, format!("qlog: {}: {why}", folder.display())))?;
    }
    let output = run(scenario, options, qlog.as_deref());
    let output = output.map_err(|why| (if matches!(why, QuicError::Input(_)) { 2 } else { 1 }, why.to_string()))?;
    serde_json::to_string_pretty(&output.result).map_err(|why| (1, why.to_string()))
}
