//! `aqmlab-quic SCENARIO.toml` prints the result that `aqmlab run --json` prints, of a scenario with flows of kind `quic`. `aqmlab run`,
//! `compare` and the like start it themselves, with `-`, `--name` and `--series`.

use aqmlab_quic::{QuicError, run};
use aqmlab_scenario::{SchemeAssignment, parse_file};
use aqmlab_sim::Options;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str =
    "aqmlab-quic SCENARIO.toml|- [--aqm NAME] [--seed N] [--set PATH=VALUE]... [--name NAME] [--series] [--qlog DIR]
  -             the scenario from standard input, with its traces in it
  --aqm NAME    a scheme in place of the scenario's own, perhaps with parameters
  --seed N      default 1
  --set         a value of the scenario
  --name NAME   name of the scenario in the result; default that of the file
  --series      also write time series and tables
  --qlog DIR    two logs for each connection, GROUP-NUMBER-client.sqlog and -server.sqlog
  --version     that of aqmlab, and the hash of the sources";
const VERSION: &str = concat!("aqmlab-quic ", env!("CARGO_PKG_VERSION"), " (sources ", env!("AQMLAB_SOURCE"), ")");

/// What was typed.
#[derive(Default)]
struct Arguments {
    scenario: String,
    name: Option<String>,
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
                "--name" => read.name = Some(value()?),
                "--series" => read.options.series = true,
                "--qlog" => read.qlog = Some(value()?.into()),
                other if other.len() > 1 && other.starts_with('-') => {
                    return Err(format!("{other}: unknown option; {USAGE}"));
                }
                _ if read.scenario.is_empty() => read.scenario = argument,
                other => return Err(format!("{other}: one scenario at a time; {USAGE}")),
            }
        }
        if read.scenario.is_empty() { Err(format!("scenario: missing; {USAGE}")) } else { Ok(read) }
    }

    /// The text of the scenario.
    fn text(&self) -> Result<String, String> {
        let mut text = String::new();
        let read = match self.scenario.as_str() {
            "-" => std::io::stdin().read_to_string(&mut text).map(|_| text),
            file => std::fs::read_to_string(file),
        };
        read.map_err(|why| format!("scenario: {}: {why}", self.scenario))
    }
}

fn main() -> ExitCode {
    let given: Vec<String> = std::env::args().skip(1).collect();
    match given.as_slice() {
        [option] if option == "--version" => println!("{VERSION}"),
        [option] if option == "--help" => println!("{USAGE}"),
        _ => match done(given) {
            Ok(result) => println!("{result}"),
            Err((code, why)) => {
                eprintln!("Error: {why}");
                return ExitCode::from(code);
            }
        },
    }
    ExitCode::SUCCESS
}

fn done(given: Vec<String>) -> Result<String, (u8, String)> {
    let arguments = Arguments::read(given.into_iter()).map_err(|why| (2, why))?;
    let text = arguments.text().map_err(|why| (2, why))?;
    let Arguments { scenario: file, name, options, set, qlog } = arguments;
    let stem = || Path::new(&file).file_stem().map_or(file.clone(), |stem| stem.to_string_lossy().into_owned());
    let scenario = parse_file(&text, &name.unwrap_or_else(stem), &file, &set).map_err(|why| (2, why.to_string()))?;
    scenario.check_schemes(options.aqm.as_ref()).map_err(|why| (2, why.to_string()))?;
    if let Some(folder) = &qlog {
        std::fs::create_dir_all(folder).map_err(|why| (2, format!("qlog: {}: {why}", folder.display())))?;
    }
    let has_series = options.series;
    let output = run(scenario, options, qlog.as_deref());
    let output = output.map_err(|why| (if matches!(why, QuicError::Input(_)) { 2 } else { 1 }, why.to_string()))?;
    Ok(if has_series { output.json() } else { output.result.json() })
}
