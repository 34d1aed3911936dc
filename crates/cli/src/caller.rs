//! The caller of a command: the user, or an agent in one of its tool calls.
//!
//! A host's plugin sets `FLAME_CALL` in the shell of a tool call. A model can unset it, so the processes
//! above this one are looked at as well, where the system shows them (Linux): a host is the parent of a
//! `flame sidecar`, and what it starts without a terminal is a tool call. A process that has left the
//! host's tree, such as a daemon, is not recognised.

use std::collections::BTreeSet;

use flamestack_core::Author;
use flamestack_core::folding::SpanEnd;

/// Maximum number of processes above this one that are looked at.
#[cfg(target_os = "linux")]
const GENERATIONS: usize = 64;

/// Returns the author of the commands of this process.
pub(crate) fn author() -> Author {
    if call().is_some() || is_below_a_host(&lineage(), is_host) {
        Author::Agent
    } else {
        Author::User
    }
}

/// Returns true if this sidecar was started by a tool call, and not by a host's plugin: those are children of
/// the host itself, which may have other sidecars already.
pub(crate) fn is_in_tool_call() -> bool {
    call().is_some() || is_below_a_host(lineage().get(1..).unwrap_or_default(), is_host)
}

/// Returns the host's tool call that runs this command, if the host names it. Events recorded here
/// then belong to the message that holds the call.
pub(crate) fn call() -> Option<String> {
    let call = std::env::var("FLAME_CALL").ok()?;
    (!call.is_empty()).then(|| SpanEnd::in_call(&call))
}

/// A process between this one and the first of the system.
#[derive(Clone, Copy, Debug)]
struct Process {
    id: u32,
    /// True if it has a terminal.
    has_terminal: bool,
}

/// Returns true if a process was started by a host without a terminal. A shell that the user opens
/// inside of a host has one.
fn is_below_a_host(lineage: &[Process], is_host: impl Fn(u32) -> bool) -> bool {
    let mut pairs = lineage.iter().zip(lineage.iter().skip(1));
    // Asked only where it matters: the answer takes a file for each child of the process.
    pairs.any(|(child, parent)| !child.has_terminal && is_host(parent.id))
}

/// Returns this process and those above it.
#[cfg(target_os = "linux")]
fn lineage() -> Vec<Process> {
    let mut lineage = Vec::new();
    let mut seen = BTreeSet::new();
    let mut next = Some(std::process::id());
    while let Some(id) = next.filter(|id| *id > 1 && seen.insert(*id))
        && lineage.len() < GENERATIONS
        && let Some((parent, has_terminal)) = proc::parent_and_terminal(id)
    {
        lineage.push(Process { id, has_terminal });
        next = Some(parent);
    }
    lineage
}

/// Returns true if a process is the parent of a sidecar.
#[cfg(target_os = "linux")]
fn is_host(id: u32) -> bool {
    proc::children(id).any(proc::is_our_sidecar)
}

/// Returns nothing: other systems do not show the processes above this one as files.
#[cfg(not(target_os = "linux"))]
fn lineage() -> Vec<Process> {
    Vec::new()
}

#[cfg(not(target_os = "linux"))]
fn is_host(_: u32) -> bool {
    false
}

/// Processes as `/proc` shows them.
#[cfg(target_os = "linux")]
mod proc {
    use std::ffi::OsStr;
    use std::fs::File;
    use std::io::Read as _;
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;

    /// Room for what most of these files hold.
    const ROOM: usize = 4096;

    /// Reads a file of a process. These have no length, by which `std::fs::read` would make room: it
    /// reads them 32 bytes at a time.
    fn read(id: u32, name: &str) -> Option<Vec<u8>> {
        let mut bytes = Vec::with_capacity(ROOM);
        let file = File::open(format!("/proc/{id}/{name}")).ok()?;
        file.take(u64::MAX).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    /// Returns the parent of a process, and true if the process has a terminal.
    pub(super) fn parent_and_terminal(id: u32) -> Option<(u32, bool)> {
        let stat = read(id, "stat")?;
        let stat = String::from_utf8_lossy(&stat);
        // The name, in parentheses, may contain anything.
        let (_, fields) = stat.rsplit_once(')')?;
        let mut fields = fields.split_ascii_whitespace();
        let parent = fields.nth(1)?.parse().ok()?;
        let terminal: i64 = fields.nth(2)?.parse().ok()?;
        Some((parent, terminal != 0))
    }

    /// Returns the children of a process, which each of its threads lists apart.
    pub(super) fn children(id: u32) -> impl Iterator<Item = u32> {
        let threads = std::fs::read_dir(format!("/proc/{id}/task")).into_iter();
        let lists = threads.flatten().flatten().filter_map(move |thread| {
            let thread = thread.file_name().into_string().ok()?;
            String::from_utf8(read(id, &format!("task/{thread}/children"))?).ok()
        });
        lists.flat_map(|list| {
            let ids = list.split_ascii_whitespace();
            ids.filter_map(|id| id.parse().ok()).collect::<Vec<u32>>()
        })
    }

    /// Returns true if a process is a sidecar that may serve the same state directory.
    pub(super) fn is_our_sidecar(id: u32) -> bool {
        let arguments = read(id, "cmdline").unwrap_or_default();
        if arguments.split(|byte| *byte == 0).nth(1) != Some(b"sidecar") {
            return false;
        }
        let environment = read(id, "environ").unwrap_or_default();
        let mut variables = environment.split(|byte| *byte == 0);
        let served = variables.find_map(|variable| variable.strip_prefix(b"FLAME_STATE_DIR="));
        match (served, std::env::var_os("FLAME_STATE_DIR")) {
            (Some(served), Some(own)) => {
                let canonical = |path: &OsStr| Path::new(path).canonicalize().ok();
                canonical(OsStr::from_bytes(served)) == canonical(&own)
            }
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: u32 = 7;

    fn process(id: u32, has_terminal: bool) -> Process {
        Process { id, has_terminal }
    }

    fn is_below_a_host(lineage: &[Process]) -> bool {
        super::is_below_a_host(lineage, |id| id == HOST)
    }

    #[test]
    fn a_tool_call_has_no_terminal_of_its_own() {
        let (terminal, none) = (process(1, true), process(2, false));
        let host = process(HOST, true);
        // `env -u FLAME_CALL flame …` below the host's shell, or instead of it.
        assert!(is_below_a_host(&[none, none, host, terminal]));
        assert!(is_below_a_host(&[none, host]));
        // A terminal that the model makes for itself is below a process without one.
        assert!(is_below_a_host(&[terminal, none, host]));
        // The user's own shell inside of the host, and outside of it.
        assert!(!is_below_a_host(&[terminal, terminal, host]));
        assert!(!is_below_a_host(&[terminal, terminal]));
        assert!(!is_below_a_host(&[none, none]));
        assert!(!is_below_a_host(&[]));
    }

    #[test]
    fn what_a_process_started_is_looked_at_only_above_one_without_a_terminal() {
        let lineage = [process(1, true), process(2, true), process(3, false)];
        let asked = std::cell::RefCell::new(Vec::new());
        let is_host = |id| {
            asked.borrow_mut().push(id);
            false
        };
        super::is_below_a_host(&lineage, is_host);
        assert!(asked.borrow().is_empty());
        let lineage = [process(1, true), process(2, false), process(3, false)];
        super::is_below_a_host(&lineage, is_host);
        assert_eq!(*asked.borrow(), [3]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_processes_above_this_one_are_found() {
        let lineage = lineage();
        assert!(lineage.len() > 1);
        let (parent, _) = proc::parent_and_terminal(std::process::id()).unwrap();
        assert!(proc::children(parent).any(|child| child == std::process::id()));
    }
}
