//! Processes of this machine, and whether one that was recorded still runs.
//!
//! A number alone does not identify a process: systems use numbers again. Its start time and the boot do.
//! A store may lie on a disk that several machines or containers share, so the machine and its process
//! namespace are part of the boot: about a process elsewhere nothing is concluded.

use flamestack_core::SessionRef;
use flamestack_core::id::Fingerprint;
use flamestack_core::session::checkpoint::ProcessIdentity;

/// Source of processes. Tests inject their own.
pub trait Processes: Sync {
    /// Returns the identity of a running process; none if it does not run or the system does not say.
    fn identity(&self, pid: u64) -> Option<ProcessIdentity>;
    /// Returns the name of the current boot; empty where the system has none.
    fn boot(&self) -> String;
    /// Returns true if the system says which processes run.
    fn is_complete(&self) -> bool;
}

/// State of a recorded process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// It runs.
    Alive,
    /// It ended.
    Gone,
    /// Nothing is known about it.
    Unknown,
}

/// Returns the state of a recorded process.
pub fn liveness(processes: &dyn Processes, recorded: &ProcessIdentity) -> Liveness {
    let now = processes.boot();
    match same_boot(&recorded.boot, &now) {
        Some(true) => {}
        Some(false) => return Liveness::Gone,
        None => return Liveness::Unknown,
    }
    match processes.identity(recorded.pid) {
        None if processes.is_complete() => Liveness::Gone,
        None => Liveness::Unknown,
        Some(running) if recorded.started.is_empty() || running.started.is_empty() => {
            Liveness::Unknown
        }
        Some(running) if running.started == recorded.started => Liveness::Alive,
        // Another process has its number now.
        Some(_) => Liveness::Gone,
    }
}

/// Compares two boots; none if they are of different machines or namespaces, or unknown.
fn same_boot(recorded: &str, now: &str) -> Option<bool> {
    let parts = |boot: &str| {
        let mut words = boot.split(' ').map(str::to_owned);
        Some((words.next()?, words.next()?, words.next()?))
    };
    let (machine, boot, namespace) = parts(recorded)?;
    let (this_machine, this_boot, this_namespace) = parts(now)?;
    if machine != this_machine {
        return None;
    }
    if boot != this_boot {
        return Some(false);
    }
    (namespace == this_namespace).then_some(true)
}

/// The processes of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemProcesses;

impl SystemProcesses {
    /// Returns the process that started this one.
    pub fn parent(self) -> Option<ProcessIdentity> {
        #[cfg(unix)]
        {
            self.identity(u64::from(std::os::unix::process::parent_id()))
        }
        #[cfg(not(unix))]
        {
            None
        }
    }
}

impl Processes for SystemProcesses {
    fn identity(&self, pid: u64) -> Option<ProcessIdentity> {
        let started = started(pid)?;
        Some(ProcessIdentity {
            pid,
            started,
            boot: self.boot(),
        })
    }

    fn boot(&self) -> String {
        boot().unwrap_or_default()
    }

    fn is_complete(&self) -> bool {
        cfg!(unix)
    }
}

/// Returns the start time of a process in ticks since the boot.
#[cfg(target_os = "linux")]
fn started(pid: u64) -> Option<String> {
    let stat = fs_err::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    start_in(&stat)
}

/// Parses the start time in `/proc/PID/stat`. The name of the program comes before it, in parentheses,
/// and may contain anything. A process that has ended but was not waited for does not run.
#[cfg(any(target_os = "linux", test))]
fn start_in(stat: &str) -> Option<String> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    let state = fields.next()?;
    (!matches!(state, "Z" | "X")).then_some(())?;
    // Field 22 of the line; the state is field 3.
    fields.nth(18).map(str::to_owned)
}

#[cfg(target_os = "linux")]
fn boot() -> Option<String> {
    let read = |path: &str| fs_err::read_to_string(path).ok();
    let machine = read("/etc/machine-id").or_else(|| read("/var/lib/dbus/machine-id"));
    let host = read("/proc/sys/kernel/hostname");
    // The machine's id is not for others: only its fingerprint is kept.
    let machine = fingerprint(machine.or(host)?.trim());
    let boot = read("/proc/sys/kernel/random/boot_id")?;
    let namespace = fs_err::read_link("/proc/self/ns/pid").ok()?;
    let namespace = namespace.to_string_lossy().replace(' ', "");
    Some(format!("{machine} {} {namespace}", boot.trim()))
}

#[cfg(all(unix, not(target_os = "linux")))]
fn started(pid: u64) -> Option<String> {
    let answer = std::process::Command::new("ps")
        .args(["-o", "lstart=", "-p", &pid.to_string()])
        .env("LC_ALL", "C")
        .stdin(std::process::Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&answer.stdout).trim().to_owned();
    (!text.is_empty()).then_some(text)
}

#[cfg(all(unix, not(target_os = "linux")))]
fn boot() -> Option<String> {
    let ask = |name: &str| {
        let answer = std::process::Command::new("sysctl")
            .args(["-n", name])
            .output();
        let text = String::from_utf8_lossy(&answer.ok()?.stdout)
            .trim()
            .to_owned();
        (!text.is_empty()).then_some(text)
    };
    let machine = fingerprint(&ask("kern.hostname")?);
    let boot = fingerprint(&ask("kern.boottime")?);
    Some(format!("{machine} {boot} all"))
}

#[cfg(not(unix))]
fn started(_: u64) -> Option<String> {
    None
}

#[cfg(not(unix))]
fn boot() -> Option<String> {
    None
}

#[cfg(unix)]
fn fingerprint(text: &str) -> String {
    let Fingerprint(number) = Fingerprint::of(&SessionRef::shell("machine"), "machine", text);
    format!("{number:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Processes that are given.
    struct Given(Vec<ProcessIdentity>, &'static str);

    impl Processes for Given {
        fn identity(&self, pid: u64) -> Option<ProcessIdentity> {
            self.0.iter().find(|known| known.pid == pid).cloned()
        }

        fn boot(&self) -> String {
            self.1.to_owned()
        }

        fn is_complete(&self) -> bool {
            true
        }
    }

    fn process(pid: u64, started: &str, boot: &str) -> ProcessIdentity {
        ProcessIdentity {
            pid,
            started: started.to_owned(),
            boot: boot.to_owned(),
        }
    }

    #[test]
    fn a_process_is_its_number_and_its_start_and_its_boot() {
        let boot = "machine one pid:[1]";
        let now = Given(vec![process(7, "100", boot)], boot);
        let of = |recorded| liveness(&now, &recorded);
        assert_eq!(of(process(7, "100", boot)), Liveness::Alive);
        assert_eq!(of(process(7, "99", boot)), Liveness::Gone);
        assert_eq!(of(process(8, "100", boot)), Liveness::Gone);
        assert_eq!(of(process(7, "100", "machine two pid:[1]")), Liveness::Gone);
        // On another machine, in another container, or without a start time: nothing is known.
        assert_eq!(of(process(7, "1", "other one pid:[1]")), Liveness::Unknown);
        assert_eq!(
            of(process(7, "1", "machine one pid:[2]")),
            Liveness::Unknown
        );
        assert_eq!(of(process(7, "", boot)), Liveness::Unknown);
        assert_eq!(of(process(7, "1", "")), Liveness::Unknown);
    }

    #[test]
    fn the_start_of_a_process_is_read_whatever_its_name() {
        let rest = "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20";
        let stat = |name: &str, state: &str| format!("12 ({name}) {state} {rest}");
        assert_eq!(start_in(&stat("a ) R 1", "S")).as_deref(), Some("4711"));
        assert_eq!(start_in(&stat("zombie", "Z")), None);
        assert_eq!(start_in("12 (cut"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_runs_and_one_that_ended_does_not() {
        let me = SystemProcesses
            .identity(u64::from(std::process::id()))
            .unwrap();
        assert_eq!(liveness(&SystemProcesses, &me), Liveness::Alive);
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = u64::from(child.id());
        child.wait().unwrap();
        let ended = ProcessIdentity { pid, ..me };
        assert_eq!(liveness(&SystemProcesses, &ended), Liveness::Gone);
    }
}
