//! A command of the user in virtual time: the emulator of `aqmlab live`, which runs here as the user.

use crate::{say, view};
use aqmlab_core::{Problems, Span};
use aqmlab_live::{LiveError, LiveOptions, Setup};
use aqmlab_scenario::{SchemeAssignment, parse};
use nix::sys::prctl;
use nix::sys::resource::{RLIM_INFINITY, Resource, setrlimit};
use nix::sys::wait::waitpid;
use nix::unistd::{
    ForkResult, Gid, Uid, dup2_stderr, dup2_stdin, dup2_stdout, fork, setgroups, sethostname, setresgid, setresuid,
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::env::set_current_dir;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

/// Virtual time since the start of the kernel at which programs start: to some, such as ping, a clock in its first second is not
/// set.
const UPTIME: Duration = Duration::from_secs(60);
/// Virtual time between two reports; the same whether anybody reads them, because each moves the clock.
const REPORT: Span = Span::from_secs(1);
/// Priority that the threads which carry packets may take: they go before all programs.
const PRIORITY: u64 = 99;

/// The order for a command of the user in virtual time.
#[derive(Clone, Debug, Deserialize)]
pub struct LiveOrder {
    /// Text of the scenario.
    pub scenario: String,
    /// Its name.
    pub name: String,
    /// The values that are set of it: path and value.
    pub overrides: Vec<(String, String)>,
    /// Scheme of all links, or of each; the scenario's own if `None`.
    pub aqm: Option<String>,
    /// Seed of all random streams.
    pub seed: u64,
    /// Programs of both ends.
    pub setup: Setup,
    /// The command is ended after this time, seconds.
    pub duration: Option<f64>,
    /// Working folder of the command.
    pub directory: PathBuf,
    /// Folders of the user that programs may change.
    pub writable: Vec<PathBuf>,
    /// Environment of the command.
    pub environment: Vec<(OsString, OsString)>,
    /// User and group number of the command.
    pub user: (u32, u32),
}

/// Runs the command, and writes its result.
pub fn run(order: &LiveOrder, result: &File) -> io::Result<()> {
    let append = |path| OpenOptions::new().append(true).open(path);
    let (stdout, stderr) = (append("/stdout")?, append("/stderr")?);
    view::enter(&order.directory, &order.writable)?;
    dup2_stdin(File::open("/dev/null")?)?; // nobody types in virtual time
    dup2_stdout(&stdout)?;
    dup2_stderr(&stderr)?;
    sethostname("client")?;
    sleep(UPTIME);
    setrlimit(Resource::RLIMIT_RTPRIO, PRIORITY, PRIORITY)?;
    setrlimit(Resource::RLIMIT_CORE, 0, RLIM_INFINITY)?;
    // SAFETY: this process has one thread.
    #[allow(unsafe_code)]
    match unsafe { fork() }? {
        ForkResult::Child => {
            let done = become_user(order).and_then(|()| emulate(order, result));
            done.or_else(|why| say(result, &json!({ "error": why.to_string() })))?;
            std::process::exit(0)
        }
        ForkResult::Parent { child } => while waitpid(None, None).is_ok_and(|ended| ended.pid() != Some(child)) {},
    }
    Ok(())
}

/// The process is the user's from now on, with the user's folder and environment.
fn become_user(order: &LiveOrder) -> io::Result<()> {
    let (user, group) = (Uid::from_raw(order.user.0), Gid::from_raw(order.user.1));
    setgroups(&[])?;
    setresgid(group, group, group)?;
    setresuid(user, user, user)?;
    prctl::set_dumpable(true)?; // else its own entries of /proc, which namespaces need, were root's
    set_current_dir(&order.directory)?;
    for (name, _) in std::env::vars_os() {
        // SAFETY: this process has one thread.
        #[allow(unsafe_code)]
        unsafe {
            std::env::remove_var(name);
        }
    }
    for (name, value) in &order.environment {
        // SAFETY: this process has one thread.
        #[allow(unsafe_code)]
        unsafe {
            std::env::set_var(name, value);
        }
    }
    Ok(())
}

fn emulate(order: &LiveOrder, result: &File) -> io::Result<()> {
    let options = options(order).map_err(|problems| io::Error::other(problems.to_string()))?;
    let done = aqmlab_live::run(&options, &mut |now, up, down| {
        say(result, &json!({ "now": now, "up": up.row(), "down": down.row() })).ok();
    });
    say(result, &done.map_or_else(failure, |report| json!({ "result": report.to_json() })))
}

fn options(order: &LiveOrder) -> Result<LiveOptions, Problems> {
    let aqm = order.aqm.as_deref().map(SchemeAssignment::parse).transpose();
    Ok(LiveOptions {
        scenario: Arc::new(parse(&order.scenario, &order.name, &order.overrides)?),
        aqm: aqm.map_err(|why| Problems::one("aqm", why))?,
        seed: order.seed,
        setup: order.setup.clone(),
        duration: order.duration.map(Span::from_seconds),
        log: order.setup.logs.clone(),
        is_virtual: true,
        look: REPORT,
    })
}

/// The reason why there is no result, by the exception that it becomes.
fn failure(error: LiveError) -> Value {
    match error {
        LiveError::NotStarted(code, why) => json!({ "not_started": [why, code] }),
        LiveError::Scheme { .. } => json!({ "scheme": error.to_string() }),
        _ => json!({ "error": error.to_string() }),
    }
}
