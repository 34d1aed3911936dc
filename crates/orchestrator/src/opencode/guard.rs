//! A guard between us and a server that we start: when we are gone, however we went, so is the server
//! with everything that it started.
//!
//! The guard reads a pipe that only we hold open. Its end means that we are gone. On Linux the guard
//! is also the reaper of everything below it, so that orphans of a server's tools are
//! found, and the server gets a signal if the guard itself is killed.

use std::ffi::OsString;
use std::io::Read as _;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// Word that makes the guard become the program, after the kernel was asked to end it with its parent.
const BECOME: &str = "--become";
/// Time between two looks at the program.
const LOOK: Duration = Duration::from_millis(100);

/// Runs a program until it ends or standard input does, and ends everything that it started.
/// Returns the exit code.
pub fn guard(own: &[OsString], words: &[OsString]) -> u8 {
    if words.first().is_some_and(|word| word == BECOME) {
        return become_program(words.get(1..).unwrap_or_default());
    }
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::set_child_subreaper(Some(rustix::process::getpid())) {
        tracing::warn!("orphans of the server would not be found: {error}");
    }
    let Some((program, arguments)) = own.split_first() else {
        return 2;
    };
    let child = Command::new(program)
        .args(arguments)
        .arg(BECOME)
        .args(words)
        .stdin(Stdio::null())
        .spawn();
    let Ok(mut child) = child else {
        return 127;
    };
    let gone = parent_gone();
    let code = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status.code().unwrap_or(1),
            Ok(None) => {}
            Err(_) => break 1,
        }
        match gone.recv_timeout(LOOK) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => break 0,
        }
    };
    end(&mut child);
    u8::try_from(code).unwrap_or(1)
}

/// Says when standard input ends.
fn parent_gone() -> Receiver<()> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut rest = [0; 64];
        while matches!(std::io::stdin().read(&mut rest), Ok(read) if read > 0) {}
        // Without a listener the guard is ending anyway.
        if sender.send(()).is_err() {
            tracing::debug!("the guard is ending");
        }
    });
    receiver
}

/// Becomes the program.
#[cfg(unix)]
fn become_program(words: &[OsString]) -> u8 {
    use std::os::unix::process::CommandExt as _;
    #[cfg(target_os = "linux")]
    {
        let signal = Some(rustix::process::Signal::KILL);
        if rustix::process::set_parent_process_death_signal(signal).is_err() {
            return 126;
        }
    }
    let Some((program, arguments)) = words.split_first() else {
        return 2;
    };
    let error = Command::new(program).args(arguments).exec();
    tracing::error!("the server could not be started: {error}");
    127
}

/// Runs the program.
#[cfg(not(unix))]
fn become_program(words: &[OsString]) -> u8 {
    let Some((program, arguments)) = words.split_first() else {
        return 2;
    };
    match Command::new(program).args(arguments).status() {
        Ok(status) => u8::try_from(status.code().unwrap_or(1)).unwrap_or(1),
        Err(_) => 127,
    }
}

/// Ends the program and everything below this process.
fn end(child: &mut Child) {
    // It may be gone already.
    drop(child.kill());
    drop(child.wait());
    #[cfg(target_os = "linux")]
    end_orphans();
}

/// Ends what the program has left. Orphans become children of this process, which may take a moment.
#[cfg(target_os = "linux")]
fn end_orphans() {
    use rustix::process::{Pid, Signal, WaitOptions, kill_process, wait};
    for _ in 0..100 {
        let below = descendants(std::process::id());
        for process in &below {
            if let Some(pid) = i32::try_from(*process).ok().and_then(Pid::from_raw) {
                // One that has ended meanwhile is as good.
                if let Err(error) = kill_process(pid, Signal::KILL) {
                    tracing::debug!("{process}: {error}");
                }
            }
        }
        while matches!(wait(WaitOptions::NOHANG), Ok(Some(_))) {}
        if below.is_empty() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Returns the processes below one, from the kernel's list.
#[cfg(target_os = "linux")]
fn descendants(of: u32) -> Vec<u32> {
    let Ok(entries) = fs_err::read_dir("/proc") else {
        return Vec::new();
    };
    let mut parents = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(process) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        let stat = fs_err::read_to_string(entry.path().join("stat")).unwrap_or_default();
        // The name, in parentheses, may contain anything.
        let mut fields = stat
            .rsplit_once(')')
            .map_or("", |(_, rest)| rest)
            .split_whitespace();
        let (state, parent) = (fields.next(), fields.next());
        if state != Some("Z")
            && let Some(parent) = parent.and_then(|parent| parent.parse::<u32>().ok())
        {
            parents.push((process, parent));
        }
    }
    let mut below = vec![of];
    let mut at = 0;
    while let Some(parent) = below.get(at).copied() {
        at += 1;
        let children = parents.iter().filter(|(_, of)| *of == parent);
        below.extend(children.map(|(process, _)| *process));
    }
    below.split_off(1)
}
