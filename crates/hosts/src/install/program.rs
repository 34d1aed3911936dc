//! Finding a program and its version.

use std::ffi::OsStr;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

/// A program that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its path.
    pub path: PathBuf,
    /// Its answer to `--version`, if it gives one.
    pub version: Option<String>,
}

impl Program {
    /// Returns the major version.
    pub fn major(&self) -> Option<u32> {
        let not_digit = |c: char| !c.is_ascii_digit();
        let version = self.version.as_deref()?.trim_start_matches(not_digit);
        version.split(not_digit).next()?.parse().ok()
    }
}

/// Finds a program in a search path (the value of `PATH`).
pub fn find(name: &str, search: &OsStr) -> Option<PathBuf> {
    let names: Vec<String> = if cfg!(windows) {
        [".exe", ".cmd"].map(|end| format!("{name}{end}")).into()
    } else {
        vec![name.to_owned()]
    };
    std::env::split_paths(search)
        .filter(|folder| folder.is_absolute())
        .flat_map(|folder| {
            names
                .iter()
                .map(move |name| folder.join(name))
                .collect::<Vec<_>>()
        })
        .find(|path| is_program(path))
}

/// Asks a program for its version, for at most the given time.
pub fn ask_version(path: PathBuf, timeout: Duration) -> Program {
    let version = first_line(&path, timeout);
    Program { path, version }
}

fn first_line(path: &Path, timeout: Duration) -> Option<String> {
    let mut child = Command::new(path)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let stdout = child.stdout.take()?;
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut text = Vec::new();
        // Unreadable output counts as no version.
        drop(stdout.take(4096).read_to_end(&mut text));
        drop(sender.send(text));
    });
    let output = receiver.recv_timeout(timeout);
    drop(child.kill());
    drop(child.wait());
    let text = String::from_utf8_lossy(&output.ok()?).into_owned();
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(line.chars().filter(|c| !c.is_control()).take(40).collect())
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    fs_err::metadata(path).is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_major_version_is_found() {
        let major = |version: &str| {
            let version = Some(version.to_owned());
            Program {
                path: PathBuf::new(),
                version,
            }
            .major()
        };
        assert_eq!(major("1.18.33"), Some(1));
        assert_eq!(major("opencode v2.0.3-beta"), Some(2));
        assert_eq!(major("unknown"), None);
    }
}
