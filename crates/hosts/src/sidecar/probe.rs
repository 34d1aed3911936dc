//! A turn with a real sidecar, as a shim takes it, to see that it answers and how fast.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::wire::PROTOCOL;

/// The reason why a probe failed.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// It could not be started.
    #[error("the sidecar cannot be started: {0}")]
    NotStarted(std::io::Error),
    /// It ended, or closed its pipe.
    #[error("the sidecar ended instead of answering `{0}`")]
    Ended(&'static str),
    /// It did not answer in time.
    #[error("the sidecar did not answer `{0}` in {1} s")]
    Silent(&'static str, u64),
    /// It answered something else.
    #[error("the sidecar answered `{0}` with {1}")]
    Odd(&'static str, String),
}

/// The time of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lap {
    /// The method.
    pub method: &'static str,
    /// The time of the answer; the first one includes the start of the process.
    pub took: Duration,
}

/// Starts a sidecar with its own state directory, says hello, and takes a turn.
pub fn round_trip(
    program: &Path,
    state: &Path,
    directory: &Path,
    patience: Duration,
) -> Result<Vec<Lap>, ProbeError> {
    let begun = Instant::now();
    let mut child = Command::new(program)
        .arg("sidecar")
        .current_dir(directory)
        .env("FLAME_STATE_DIR", state)
        .env_remove("FLAME_SESSION")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(ProbeError::NotStarted)?;
    let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(ProbeError::Ended("hello"));
    };
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    let mut turn = Turn {
        child,
        stdin: Some(stdin),
        lines,
        patience,
        laps: Vec::new(),
    };
    turn.take(begun, directory)?;
    Ok(std::mem::take(&mut turn.laps))
}

struct Turn {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    patience: Duration,
    laps: Vec<Lap>,
}

impl Turn {
    fn take(&mut self, begun: Instant, directory: &Path) -> Result<(), ProbeError> {
        let message = json!({
            "id": "msg_1", "role": "user",
            "parts": [{ "type": "text", "id": "prt_1", "text": "Hello" }],
        });
        let hello = json!({
            "protocol": PROTOCOL, "host": "doctor", "directory": directory.display().to_string(),
        });
        self.ask("hello", &hello, begun)?;
        let prompt = json!({ "session": "ses_1", "message": message });
        self.ask("prompt", &prompt, Instant::now())?;
        let prepare = json!({ "session": "ses_1", "known": 0, "messages": [message] });
        self.ask("prepare", &prepare, Instant::now())?;
        let call = json!({ "session": "ses_1", "name": "stack_status", "arguments": {} });
        self.ask("call", &call, Instant::now())
    }

    fn ask(
        &mut self,
        method: &'static str,
        params: &Value,
        begun: Instant,
    ) -> Result<(), ProbeError> {
        let id = self.laps.len();
        let asked = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let written = self
            .stdin
            .as_mut()
            .map(|stdin| stdin.write_all(format!("{asked}\n").as_bytes()));
        if !matches!(written, Some(Ok(()))) {
            return Err(ProbeError::Ended(method));
        }
        let line = self.lines.recv_timeout(self.patience);
        let line = line.map_err(|error| match error {
            RecvTimeoutError::Timeout => ProbeError::Silent(method, self.patience.as_secs()),
            RecvTimeoutError::Disconnected => ProbeError::Ended(method),
        })?;
        let answer: Value = serde_json::from_str(&line).unwrap_or_default();
        if answer.get("id") != Some(&json!(id)) || answer.get("result").is_none() {
            let said = answer.pointer("/error/message").and_then(Value::as_str);
            let said = said.map_or_else(|| "something else".to_owned(), |said| format!("“{said}”"));
            return Err(ProbeError::Odd(method, said));
        }
        self.laps.push(Lap {
            method,
            took: begun.elapsed(),
        });
        Ok(())
    }
}

impl Drop for Turn {
    /// Ends the sidecar by the end of its input, or by a signal if it hangs.
    fn drop(&mut self) {
        self.stdin = None;
        let ended = self.lines.recv_timeout(Duration::from_secs(1));
        if !matches!(ended, Err(RecvTimeoutError::Disconnected)) {
            drop(self.child.kill());
        }
        drop(self.child.wait());
    }
}
