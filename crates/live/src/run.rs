//! A command behind an emulated line, from start to end.

use crate::capture::Capture;
use crate::direction::Direction;
use crate::forward::{Clock, Forwarder, View, hurry};
use crate::log::Log;
use crate::message::{DeviceCounts, InitMessage, InitRequest};
use crate::report::{Report, Side};
use crate::sandbox::{Sandbox, SandboxError};
use crate::setup::{LiveOptions, Setup};
use aqmlab_core::{Problems, Span, Time};
use aqmlab_scenario::LinkSpec;
use aqmlab_sim::{LineSpec, Lines};
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::SignalFd;
use nix::unistd::{getpgrp, tcgetpgrp, tcsetpgrp};
use std::io::{self, PipeReader};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{Builder, JoinHandle};

/// The reason why a run has no result.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The scenario or a scheme is refused.
    #[error(transparent)]
    Input(#[from] Problems),
    /// The machine does not allow it.
    #[error("{0}")]
    Sandbox(#[from] SandboxError),
    /// The command could not be started; the code a shell would give.
    #[error("{1}")]
    NotStarted(i32, String),
    /// A scheme broke down.
    #[error("{scheme}: {failure}")]
    Scheme {
        /// Name of the scheme.
        scheme: String,
        /// The time and the cause.
        failure: String,
    },
    /// The machine failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A callback while the command runs: seconds so far, from the command, to the command.
pub type Progress<'a> = &'a mut dyn FnMut(f64, &View, &View);

/// A direction while it runs.
struct DirectionThread {
    thread: JoinHandle<(Forwarder, bool)>,
    view: Arc<Mutex<View>>,
}

/// A command that does not end when it is told to has so long.
const GRACE: Span = Span::from_secs(2);

/// Runs the command and returns what was measured.
///
/// # Errors
/// If the scenario is refused, the machine does not allow it, the command cannot be started or a scheme breaks down.
pub fn run(options: &LiveOptions, watch: Progress) -> Result<Report, LiveError> {
    let lines = Lines::of(&options.scenario)?;
    let [up, down] = [&lines.up, &lines.down].map(|line| direction(options, line));
    let (up, down) = (up?, down?);
    let before = SigSet::thread_get_mask().map_err(io::Error::from)?;
    let signals: SigSet = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP].into_iter().collect();
    signals.thread_block().map_err(io::Error::from)?;
    let terminal = Terminal::take();
    let setup = Setup { foreground: terminal.is_foreground, ..options.setup.clone() };
    let done = Sandbox::new(&setup).map_err(LiveError::from).and_then(|sandbox| {
        let clock = Clock::start(options.is_virtual);
        let is_stopped = Arc::new(AtomicBool::new(false));
        let (stopped, stop) = io::pipe()?;
        let start = |direction, from: &std::fs::File, to: &std::fs::File, name: &str| {
            let mut forwarder = Forwarder::new(from.try_clone()?, to.try_clone()?, direction, clock);
            options.log.as_ref().map_or(Ok(()), |folder| forwarder.write_down(folder, name))?;
            spawn(name, forwarder, is_stopped.clone(), stopped.try_clone()?)
        };
        let running = [
            start(up, &sandbox.client, &sandbox.server, "up")?,
            start(down, &sandbox.server, &sandbox.client, "down")?,
        ];
        let outcome = accompany(&sandbox, options, clock, &running, watch);
        let end = clock.now();
        is_stopped.store(true, Ordering::Relaxed);
        drop(stop);
        let ended = running.map(|running| running.thread.join().expect("a forwarder does not panic"));
        let (code, mut warnings) = outcome?;
        let counts = count(&sandbox, &mut warnings);
        sandbox.end();
        report(options, &lines, ended, counts, code, warnings, end)
    });
    drop(terminal);
    before.thread_set_mask().map_err(io::Error::from)?;
    done
}

fn direction(options: &LiveOptions, line: &LineSpec) -> Result<Direction, Problems> {
    let scenario = &options.scenario;
    let chosen = options.aqm.as_ref();
    chosen.map_or(Ok(()), |chosen| chosen.check(&scenario.links)).map_err(|why| Problems::one("aqm", why))?;
    let choice = scenario.scheme_of(&line.link, chosen);
    Ok(Direction::new(scenario, line, choice, options.seed)?.sampled(scenario.sample))
}

fn spawn(
    name: &str,
    mut forwarder: Forwarder,
    is_stopped: Arc<AtomicBool>,
    stop: PipeReader,
) -> Result<DirectionThread, LiveError> {
    let view = Arc::new(Mutex::new(View::default()));
    let shown = view.clone();
    let work = move || {
        let is_urgent = hurry();
        forwarder.run(&is_stopped, &stop, &shown);
        (forwarder, is_urgent)
    };
    Ok(DirectionThread { thread: Builder::new().name(name.to_string()).spawn(work)?, view })
}

/// Sees the command through; returns its code and what the user should know.
fn accompany(
    sandbox: &Sandbox,
    options: &LiveOptions,
    clock: Clock,
    running: &[DirectionThread; 2],
    watch: Progress,
) -> Result<(i32, Vec<String>), LiveError> {
    let control = sandbox.control();
    let ended = |_| LiveError::Io(io::Error::other("the namespaces have ended before the command"));
    let signals: SigSet = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP].into_iter().collect();
    let signals = SignalFd::new(&signals).map_err(io::Error::from)?;
    let mut warnings: Vec<String> =
        options.scenario.links.iter().filter_map(|link| unannounced(options, link)).collect();
    let mut ending_since: Option<Time> = None; // when the command was asked to end
    let mut is_over = false; // because its time was
    control.send(&InitRequest::Start).map_err(ended)?;
    loop {
        let mut ready =
            [PollFd::new(control.as_fd(), PollFlags::POLLIN), PollFd::new(signals.as_fd(), PollFlags::POLLIN)];
        let deadline =
            ending_since.map(|since| since + GRACE).or(options.duration.map(|duration| Time::ZERO + duration));
        let left = deadline.map_or(options.look, |deadline| options.look.min(deadline.since(clock.now())));
        poll(&mut ready, PollTimeout::from(left.0.div_ceil(1_000_000_000) as u16)).map_err(io::Error::from)?;
        let [has_said, is_signalled] = ready.map(|file| file.any().unwrap_or(true));
        let now = clock.now();
        if has_said {
            match control.receive().map_err(ended)? {
                InitMessage::Ended(code) => return Ok((if is_over { 0 } else { code }, warnings)),
                InitMessage::NotStarted(code, why) => return Err(LiveError::NotStarted(code, why)),
                InitMessage::Warning(why) => warnings.push(why),
                other => warnings.push(format!("unexpected: {other:?}")),
            }
        }
        if is_signalled && let Ok(Some(signal)) = signals.read_signal() {
            let number = signal.ssi_signo as i32;
            if ending_since.is_some() {
                return Ok((128 + number, warnings));
            }
            control.send(&InitRequest::Signal(number)).map_err(ended)?;
            ending_since = Some(now).filter(|_| number != libc::SIGINT); // a shell goes on after Ctrl-C
        }
        if ending_since.is_some_and(|since| now > since + GRACE) {
            return Ok((if is_over { 0 } else { 128 + libc::SIGKILL }, warnings));
        }
        if ending_since.is_none() && options.duration.is_some_and(|duration| now > Time::ZERO + duration) {
            control.send(&InitRequest::Signal(libc::SIGTERM)).map_err(ended)?;
            (ending_since, is_over) = (Some(now), true);
        }
        let [up, down] =
            running.each_ref().map(|running| running.view.lock().map(|view| view.clone()).unwrap_or_default());
        if up.failure.is_some() || down.failure.is_some() {
            return Ok((1, warnings));
        }
        watch(now.seconds(), &up, &down);
    }
}

/// A scheme's need that a packet of today does not meet.
fn unannounced(options: &LiveOptions, link: &LinkSpec) -> Option<String> {
    let choice = options.scenario.scheme_of(link, options.aqm.as_ref());
    let wants = choice.name.strip_prefix("fq-").unwrap_or(&choice.name) == "fuzzy-rtt";
    wants.then(|| {
        format!(
            "{}: real packets announce no round-trip time; {} takes its parameter `unannounced`",
            link.name, choice.name
        )
    })
}

/// The kernel's counts, once all processes inside have ended.
fn count(sandbox: &Sandbox, warnings: &mut Vec<String>) -> Option<(DeviceCounts, DeviceCounts)> {
    sandbox.control().send(&InitRequest::Count).ok()?;
    loop {
        match sandbox.control().receive().ok()? {
            InitMessage::Counts(client, server) => return Some((client, server)),
            InitMessage::Warning(why) => warnings.push(why),
            _ => {}
        }
    }
}

fn report(
    options: &LiveOptions,
    lines: &Lines,
    ended: [(Forwarder, bool); 2],
    counts: Option<(DeviceCounts, DeviceCounts)>,
    code: i32,
    mut warnings: Vec<String>,
    end: Time,
) -> Result<Report, LiveError> {
    let (client, server) = counts.unzip();
    let [(mut up, is_urgent), (mut down, _)] = ended;
    for (forwarder, line) in [(&mut up, &lines.up), (&mut down, &lines.down)] {
        let written = forwarder.log.take().map_or(Ok(()), Log::end);
        let captured = forwarder.capture.take().map_or(Ok(()), Capture::end);
        if let Err(why) = written.and(captured) {
            warnings.push(format!("the log and the capture are not complete: {why}"));
        }
        if let Some(failure) = forwarder.direction.failure() {
            let scheme = options.scenario.scheme_of(&line.link, options.aqm.as_ref()).name.clone();
            return Err(LiveError::Scheme { scheme, failure: failure.to_string() });
        }
        forwarder.direction.link.pass_time(end.max(Time::ZERO));
    }
    let up = Side { line: &lines.up, forwarder: up, sender: client, receiver: server };
    let down = Side { line: &lines.down, forwarder: down, sender: server, receiver: client };
    Ok(Report::new(options, up, down, code, warnings, is_urgent, end))
}

/// The terminal, which the command gets if it was ours, and which comes back at the end.
struct Terminal {
    is_foreground: bool,
}

impl Terminal {
    fn take() -> Self {
        Self { is_foreground: tcgetpgrp(io::stdin()).is_ok_and(|group| group == getpgrp()) }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if self.is_foreground {
            let blocked: SigSet = [Signal::SIGTTOU].into_iter().collect();
            blocked.thread_block().ok();
            tcsetpgrp(io::stdin(), getpgrp()).ok();
            blocked.thread_unblock().ok();
        }
    }
}
