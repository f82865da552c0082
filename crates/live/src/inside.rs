//! The processes within the namespaces: the keeper, and init, which makes devices and starts programs.

use crate::message::{Channel, DeviceCounts, InitMessage, InitRequest};
use crate::outside::{PastaHelper, RESOLVER};
use crate::setup::{CAPABILITIES_V3, CLIENT, SERVER, Setup};
use crate::tun;
use aqmlab_netlink::Netlink;
use nix::libc;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::prctl;
use nix::sys::signal::{SigHandler, SigSet, Signal, kill, signal};
use nix::sys::signalfd::SignalFd;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork, getegid, geteuid, getppid, setpgid, tcsetpgrp};
use std::fmt::Display;
use std::fs::{self, File};
use std::io;
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// Says which step failed.
trait Step<T> {
    fn step(self, what: &str) -> Result<T, String>;
}

impl<T, E: Display> Step<T> for Result<T, E> {
    fn step(self, what: &str) -> Result<T, String> {
        self.map_err(|why| format!("{what}: {why}"))
    }
}

/// Time that the far end's programs have until something listens.
const LISTENING: Duration = Duration::from_secs(2);

/// The keeper: makes the namespaces, and init in them, and waits for its end.
pub fn keep(control: Channel, setup: &Setup, emulator: Pid) -> ! {
    SigSet::all().thread_block().ok();
    if let Err(why) = isolate(emulator) {
        control.send(&InitMessage::Refused(why)).ok();
        exit_now(1);
    }
    // SAFETY: this process has one thread, made by a fork itself.
    #[allow(unsafe_code)]
    match unsafe { fork() } {
        Ok(ForkResult::Child) => init(control, setup),
        Ok(ForkResult::Parent { child }) => {
            drop(control);
            waitpid(child, None).ok();
            exit_now(0)
        }
        Err(why) => {
            control.send(&InitMessage::Refused(format!("a process of its own: {why}"))).ok();
            exit_now(1)
        }
    }
}

/// Ends the process without what the program it was copied from has arranged for its end.
fn exit_now(code: i32) -> ! {
    // SAFETY: `_exit` has no preconditions.
    #[allow(unsafe_code)]
    unsafe {
        libc::_exit(code)
    }
}

/// Enters fresh namespaces; the user keeps user and group number in them.
fn isolate(emulator: Pid) -> Result<(), String> {
    let (user, group) = (geteuid(), getegid());
    let namespaces =
        CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWPID | CloneFlags::CLONE_NEWIPC;
    unshare(namespaces).step("user namespaces")?;
    fs::write("/proc/self/setgroups", "deny").step("user namespaces: setgroups")?;
    let mapped = fs::write("/proc/self/uid_map", format!("{user} {user} 1"))
        .and_then(|()| fs::write("/proc/self/gid_map", format!("{group} {group} 1")));
    match mapped {
        // Root without capabilities may not map itself (CAP_SETFCAP). All that matters works without.
        Err(why) if why.kind() == io::ErrorKind::PermissionDenied && user.is_root() => {}
        mapped => mapped.step("user namespaces: uid_map")?,
    }
    prctl::set_pdeathsig(Signal::SIGKILL).step("PR_SET_PDEATHSIG")?;
    if getppid() != emulator {
        exit_now(1);
    }
    Ok(())
}

/// Process 1: whatever happens, all ends with it.
fn init(control: Channel, setup: &Setup) -> ! {
    prctl::set_pdeathsig(Signal::SIGKILL).ok();
    let Err(why) = Init::new(setup).and_then(|(init, devices)| {
        control.send_with_files(&InitMessage::Ready, &devices).step("handing over the devices")?;
        drop(devices);
        init.serve(&control, setup)
    }) else {
        exit_now(0)
    };
    control.send(&InitMessage::Refused(why)).ok();
    exit_now(1)
}

/// The two ends.
struct Init {
    client: File,
    server: File,
    signals: SignalFd,
}

impl Init {
    /// Makes both ends; the process stays in the client's.
    fn new(setup: &Setup) -> Result<(Self, [File; 2]), String> {
        mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>)
            .step("private mounts")?;
        let outside = if setup.outside { Some(PastaHelper::stay().step("the network outside")?) } else { None };
        own_files(if setup.outside { RESOLVER.to_string() } else { SERVER[0].to_string() });
        unshare(CloneFlags::CLONE_NEWNET).step("the client's network namespace")?;
        let (client, to_client) = end(CLIENT, Some(SERVER), setup)?;
        unshare(CloneFlags::CLONE_NEWNET).step("the far end's network namespace")?;
        let (server, to_server) = end(SERVER, (!setup.outside).then_some(CLIENT), setup)?;
        if let Some(outside) = outside
            && !outside.connect(&server).step("the network outside")?
        {
            return Err("the network outside: pasta (package passt) does not connect it; is it installed?".to_string());
        }
        setns(&client, CloneFlags::CLONE_NEWNET).step("the client's network namespace")?;
        let signals = SignalFd::new(&SigSet::all()).step("signals")?;
        Ok((Self { client, server, signals }, [to_client, to_server]))
    }

    /// Runs the programs and answers the emulator, until it closes.
    fn serve(&self, control: &Channel, setup: &Setup) -> Result<(), String> {
        let mut command = None;
        loop {
            let mut ready =
                [PollFd::new(control.as_fd(), PollFlags::POLLIN), PollFd::new(self.signals.as_fd(), PollFlags::POLLIN)];
            poll(&mut ready, PollTimeout::NONE).step("poll")?;
            let [is_asked, is_signalled] = ready.map(|file| file.any().unwrap_or(true));
            if is_signalled {
                self.signals.read_signal().ok();
                reap(control, command);
            }
            if !is_asked {
                continue;
            }
            match control.receive() {
                Ok(InitRequest::Start) => command = self.start(control, setup),
                Ok(InitRequest::Signal(number)) => {
                    if let (Some(command), Ok(signal)) = (command, Signal::try_from(number)) {
                        kill(Pid::from_raw(-Pid::as_raw(command)), signal).ok();
                    }
                }
                Ok(InitRequest::Count) => self.count(control)?,
                Err(_) => return Ok(()), // the emulator has closed, or is gone
            }
        }
    }

    /// Starts the far end's programs, and when one listens, the command.
    fn start(&self, control: &Channel, setup: &Setup) -> Option<Pid> {
        let warn = |why: String| drop(control.send(&InitMessage::Warning(why)));
        let server = SERVER[0].to_string();
        if !fs::read_to_string("/etc/hosts").is_ok_and(|hosts| hosts.contains(&server)) {
            warn(format!(
                "this machine does not allow a private /etc/hosts, so the far end has no name; its address is {server}"
            ));
        }
        setns(&self.server, CloneFlags::CLONE_NEWNET).ok();
        start_lines("serve", &setup.serve, setup, &warn);
        if !setup.serve.is_empty() && !await_listener(control) {
            warn(format!("serve: nothing listens after {} s", LISTENING.as_secs()));
        }
        setns(&self.client, CloneFlags::CLONE_NEWNET).ok();
        start_lines("also", &setup.also, setup, &warn);
        sleep(Duration::from_secs_f64(setup.start));
        let mut program = Command::new(&setup.command[0]);
        program.args(&setup.command[1..]).env("AQMLAB_SERVER", server);
        if setup.quiet_stdout {
            program.stdout(io::stderr().as_fd().try_clone_to_owned().map_or(Stdio::null(), Stdio::from));
        }
        let started = start(program, setup.foreground);
        started
            .map_err(|why| {
                let code = if why.kind() == io::ErrorKind::NotFound { 127 } else { 126 };
                let name = setup.command[0].to_string_lossy();
                control.send(&InitMessage::NotStarted(code, format!("{name}: {why}"))).ok()
            })
            .ok()
    }

    /// Ends all other processes and says what the devices have counted.
    fn count(&self, control: &Channel) -> Result<(), String> {
        kill(Pid::from_raw(-1), Signal::SIGKILL).ok();
        while waitpid(None, None).is_ok() {}
        let client = counts().step("/proc/net/dev")?;
        setns(&self.server, CloneFlags::CLONE_NEWNET).step("the far end's network namespace")?;
        let server = counts().step("/proc/net/dev")?;
        setns(&self.client, CloneFlags::CLONE_NEWNET).step("the client's network namespace")?;
        control.send(&InitMessage::Counts(client, server)).step("counts")
    }
}

/// Starts lines of an option, each in a shell, in the present namespace.
fn start_lines(option: &str, lines: &[String], setup: &Setup, warn: &dyn Fn(String)) {
    for (number, line) in lines.iter().enumerate() {
        let log = setup.logs.as_ref().map(|folder| folder.join(format!("{option}-{}.log", number + 1)));
        let output = log.and_then(|path| File::create(path).ok()).map_or(Stdio::null(), Stdio::from);
        let mut program = Command::new("sh");
        program.arg("-c").arg(line).env("AQMLAB_SERVER", SERVER[0].to_string()).stdin(Stdio::null()).stdout(output);
        if let Err(why) = start(program, false) {
            warn(format!("{option}: {line}: {why}"));
        }
    }
}

/// One end: the namespace in which the process is, and its device. All that has no other route goes to `gateway`.
fn end(own: [IpAddr; 2], gateway: Option<[IpAddr; 2]>, setup: &Setup) -> Result<(File, File), String> {
    let device = tun::open().map_err(|why| format!("/dev/net/tun: {why}; aqmlab doctor says what to do"))?;
    // Where a system has no IPv6 its settings are not there.
    fs::write("/proc/sys/net/ipv6/conf/default/router_solicitations", "0").ok();
    let net = Netlink::open().step("netlink")?;
    net.bring_up("lo", None).step("loopback")?;
    net.bring_up(tun::DEVICE, Some((setup.mtu, DEVICE_QUEUE))).step(&format!("an MTU of {} bytes", setup.mtu))?;
    let has_v6 = fs::exists("/proc/net/if_inet6").unwrap_or(false) && setup.mtu >= 1280;
    let usable = |address: &IpAddr| address.is_ipv4() || has_v6;
    for (own, bits) in own.into_iter().zip([30, 126]).filter(|(own, _)| usable(own)) {
        net.add_address(tun::DEVICE, own, bits).step(&format!("the address {own}"))?;
    }
    for gateway in gateway.into_iter().flatten().filter(usable) {
        net.add_default_route(tun::DEVICE, gateway).step(&format!("the route by {gateway}"))?;
    }
    // `ping` without privileges, where that may be set.
    fs::write("/proc/sys/net/ipv4/ping_group_range", format!("{0} {0}", getegid())).ok();
    for (name, value) in &setup.sysctls {
        let path = format!("/proc/sys/{}", name.replace('.', "/"));
        fs::write(path, value).map_err(|why| refused(name, value, &why))?;
    }
    Ok((File::open("/proc/self/ns/net").step("the network namespace")?, device))
}

/// An error message for a setting of the kernel that cannot be made, with the remedy.
fn refused(name: &str, value: &str, why: &io::Error) -> String {
    let allowed = "/proc/sys/net/ipv4/tcp_allowed_congestion_control";
    let hint = match (name, why.kind()) {
        ("net.ipv4.tcp_congestion_control", io::ErrorKind::NotFound) => {
            " (modprobe loads what the kernel has)".to_string()
        }
        ("net.ipv4.tcp_congestion_control", io::ErrorKind::PermissionDenied) => format!(
            "; allow it once by: sudo sysctl -w net.ipv4.tcp_allowed_congestion_control=\"{} {value}\"",
            fs::read_to_string(allowed).unwrap_or_default().trim()
        ),
        _ => String::new(),
    };
    format!("{name} = {value}: {why}{hint}")
}

/// Packets that may wait in a device for the emulator: a few ms at 1 Gbit/s, for the time the emulator is not scheduled.
const DEVICE_QUEUE: u32 = 1000;

/// Puts private files in the place of `/etc/hosts` and `/etc/resolv.conf`, and mounts a `/proc` of the namespace. Where the
/// machine refuses, as some containers do, programs see those of the machine.
fn own_files(resolver: String) {
    let tmpfs = mount(Some("tmpfs"), "/proc", Some("tmpfs"), MsFlags::empty(), Some("size=64k"));
    if tmpfs.is_ok() {
        let named = |[v4, v6]: [IpAddr; 2], name: &str| format!("{v4} {name}\n{v6} {name}6\n");
        let hosts =
            "127.0.0.1 localhost\n::1 localhost\n".to_string() + &named(CLIENT, "client") + &named(SERVER, "server");
        let resolver = format!("nameserver {resolver}\noptions timeout:1 attempts:1\n");
        for (file, text) in [("hosts", hosts), ("resolv.conf", resolver)] {
            let (own, place) = (format!("/proc/{file}"), format!("/etc/{file}"));
            let bind =
                |()| mount(Some(own.as_str()), place.as_str(), None::<&str>, MsFlags::MS_BIND, None::<&str>).ok();
            fs::write(&own, text).ok().and_then(bind);
        }
        umount2("/proc", MntFlags::MNT_DETACH).ok();
    }
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    mount(Some("proc"), "/proc", Some("proc"), flags, None::<&str>).ok();
}

/// Starts a program in a process group of its own, without any privilege.
fn start(mut program: Command, foreground: bool) -> io::Result<Pid> {
    let prepare = move || {
        setpgid(Pid::from_raw(0), Pid::from_raw(0))?;
        if foreground {
            tcsetpgrp(io::stdin(), nix::unistd::getpid())?;
        }
        drop_privileges()?;
        SigSet::all().thread_unblock()?;
        for ignored in [Signal::SIGPIPE, Signal::SIGXFSZ] {
            // SAFETY: no handler is set, only the default.
            #[allow(unsafe_code)]
            unsafe { signal(ignored, SigHandler::SigDfl) }?; // which Python ignores
        }
        Ok(())
    };
    // SAFETY: between fork and exec only system calls are made; init has one thread.
    #[allow(unsafe_code)]
    unsafe {
        program.pre_exec(prepare)
    };
    let child = program.spawn()?;
    Ok(Pid::from_raw(child.id() as i32))
}

/// Takes all capabilities for ever from programs executed from now on, even if their user is root or their file would give
/// them some.
fn drop_privileges() -> io::Result<()> {
    const NO_ROOT: libc::c_ulong = 1 | 2; // SECBIT_NOROOT, and locked
    let none = [0u32; 6]; // twice `struct __user_cap_data_struct`
    prctl::set_no_new_privs()?;
    prctl::set_pdeathsig(None)?;
    // SAFETY: the first call takes numbers only; of the second the kernel reads the two structures.
    #[allow(unsafe_code)]
    let failed = unsafe {
        libc::prctl(libc::PR_SET_SECUREBITS, NO_ROOT, 0, 0, 0) != 0
            || libc::syscall(libc::SYS_capset, &raw const CAPABILITIES_V3, &raw const none) != 0
    };
    if failed { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Waits until a socket of the present namespace waits for others; false if that takes too long. It ends at once when the
/// emulator has something to say.
fn await_listener(control: &Channel) -> bool {
    const LISTEN: &str = "0A";
    let has_lines = |file: &str, is_waiting: fn(&str) -> bool| {
        fs::read_to_string(format!("/proc/net/{file}")).is_ok_and(|text| text.lines().skip(1).any(is_waiting))
    };
    let is_listening = |line: &str| line.split_whitespace().nth(3) == Some(LISTEN);
    const TRIES: u16 = 200;
    for _ in 0..TRIES {
        let [tcp, udp] = [["tcp", "tcp6"], ["udp", "udp6"]];
        if tcp.iter().any(|file| has_lines(file, is_listening)) || udp.iter().any(|file| has_lines(file, |_| true)) {
            return true;
        }
        let mut asked = [PollFd::new(control.as_fd(), PollFlags::POLLIN)];
        if poll(&mut asked, (LISTENING / TRIES.into()).try_into().unwrap_or(PollTimeout::ZERO)) != Ok(0) {
            return true;
        }
    }
    false
}

/// Sees to the processes that have ended or stopped.
fn reap(control: &Channel, command: Option<Pid>) {
    let flags = WaitPidFlag::WNOHANG | WaitPidFlag::WUNTRACED;
    loop {
        match waitpid(None, Some(flags)) {
            Ok(WaitStatus::Exited(child, code)) if Some(child) == command => {
                drop(control.send(&InitMessage::Ended(code)))
            }
            Ok(WaitStatus::Signaled(child, signal, _)) if Some(child) == command => {
                control.send(&InitMessage::Ended(128 + signal as i32)).ok();
            }
            // Nobody could wake it: the emulator's own group is not in the foreground.
            Ok(WaitStatus::Stopped(child, _)) => drop(kill(Pid::from_raw(-child.as_raw()), Signal::SIGCONT)),
            Ok(WaitStatus::StillAlive) | Err(_) => return,
            Ok(_) => {}
        }
    }
}

/// The kernel's counts at the device of the present namespace.
fn counts() -> io::Result<DeviceCounts> {
    let text = fs::read_to_string("/proc/net/dev")?;
    let line = text.lines().find_map(|line| line.trim().strip_prefix(tun::DEVICE)?.strip_prefix(':'));
    let numbers: Vec<u64> = line.unwrap_or("").split_whitespace().filter_map(|word| word.parse().ok()).collect();
    // Received: bytes, packets, errors, drops, and four more; then the same sent.
    let at = |place: usize| numbers.get(place).copied().unwrap_or(0);
    Ok(DeviceCounts { sent: at(9), overrun: at(11), received: at(1), refused: at(2) + at(3) })
}
