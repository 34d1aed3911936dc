//! The server's event stream. An event is only a reason to look: none is replayed, streams end early
//! and can die silently, so a reader that is quiet or gone changes nothing but the waiting time.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use flamestack_core::text::percent_encoded;
use serde_json::Value;
use ureq::Agent;

use super::client::Login;
use crate::host::Wake;

/// Time between two attempts to open a stream.
const AGAIN: Duration = Duration::from_millis(500);
/// Time without any byte after which a stream is taken for dead. The server sends one every 10 s.
const SILENCE: Duration = Duration::from_secs(45);

/// Streams of events, one per directory.
#[derive(Debug)]
pub(super) struct Events {
    login: Login,
    sender: Sender<Wake>,
    receiver: Receiver<Wake>,
    streams: Vec<(PathBuf, Arc<AtomicBool>)>,
}

impl Events {
    pub(super) fn new(login: Login) -> Self {
        let (sender, receiver) = channel();
        Self {
            login,
            sender,
            receiver,
            streams: Vec::new(),
        }
    }

    /// Listens to what happens in a directory.
    pub(super) fn listen(&mut self, directory: &Path) {
        if self.streams.iter().any(|(known, _)| known == directory) {
            return;
        }
        let ended = Arc::new(AtomicBool::new(false));
        self.streams
            .push((directory.to_owned(), Arc::clone(&ended)));
        let (login, sender) = (self.login.clone(), self.sender.clone());
        let directory = directory.to_owned();
        std::thread::spawn(move || {
            while !ended.load(Ordering::Relaxed) {
                if stream(&login, &directory, &sender, &ended).is_none() {
                    return;
                }
                std::thread::sleep(AGAIN);
            }
        });
    }

    /// Waits for news.
    pub(super) fn wait(&self, at_most: Duration) -> Wake {
        let first = match self.receiver.recv_timeout(at_most) {
            Ok(wake) => wake,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return Wake::Quiet,
        };
        let mut sessions = Vec::new();
        let mut everything = false;
        for wake in std::iter::once(first).chain(self.receiver.try_iter()) {
            match wake {
                Wake::News(more) => sessions.extend(more),
                Wake::Everything => everything = true,
                Wake::Quiet => {}
            }
        }
        if everything {
            Wake::Everything
        } else {
            Wake::News(sessions)
        }
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        for (_, ended) in &self.streams {
            ended.store(true, Ordering::Relaxed);
        }
    }
}

/// Reads one stream until it ends. Returns `None` if there is no listener any more.
fn stream(
    login: &Login,
    directory: &Path,
    sender: &Sender<Wake>,
    ended: &AtomicBool,
) -> Option<()> {
    let agent: Agent = Agent::config_builder()
        .timeout_recv_body(None)
        .timeout_connect(Some(Duration::from_secs(10)))
        .timeout_recv_response(Some(SILENCE))
        .proxy(None)
        .tls_config(login.tls())
        .build()
        .new_agent();
    let directory = percent_encoded(&directory.to_string_lossy(), b"");
    let mut request = agent.get(format!("{}/event?directory={directory}", login.url));
    if let Some(authorization) = login.authorization() {
        request = request.header("authorization", authorization);
    }
    let Ok(answer) = request.call() else {
        return Some(());
    };
    // Whatever happened before the stream was open is found by looking.
    sender.send(Wake::Everything).ok()?;
    for line in BufReader::new(answer.into_body().into_reader()).lines() {
        let Ok(line) = line else { break };
        if ended.load(Ordering::Relaxed) {
            return None;
        }
        if let Some(wake) = line.strip_prefix("data:").and_then(heard) {
            sender.send(wake).ok()?;
        }
    }
    sender.send(Wake::Everything).ok()
}

/// Reads one event. Pieces of text that are being written are not news.
fn heard(data: &str) -> Option<Wake> {
    let event: Value = serde_json::from_str(data.trim()).ok()?;
    let kind = event.get("type")?.as_str()?;
    let properties = event.get("properties")?;
    let session = || {
        let direct = properties.get("sessionID");
        let inside = |name: &str| properties.get(name)?.get("sessionID");
        let found = direct.or_else(|| inside("info")).or_else(|| inside("part"));
        found?.as_str().map(str::to_owned)
    };
    // Messages that are being written are looked at now and then: each look takes the server's time.
    let is_whole = || {
        let info = properties.get("info");
        let end = info.and_then(|info| info.get("time")?.get("completed"));
        end.or_else(|| info?.get("error")).is_some()
    };
    let is_busy = || {
        let status = properties
            .get("status")
            .and_then(|status| status.get("type"));
        status.and_then(Value::as_str) == Some("busy")
    };
    match kind {
        "message.updated" if !is_whole() => None,
        "session.status" if is_busy() => None,
        "session.idle" | "session.status" | "session.error" | "message.updated"
        | "message.removed" => Some(Wake::News(vec![session()?])),
        "permission.asked" | "question.asked" | "server.instance.disposed" => {
            Some(Wake::Everything)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_may_end_or_block_a_turn_is_news() {
        let idle = r#" {"type":"session.idle","properties":{"sessionID":"ses_1"}}"#;
        assert_eq!(heard(idle), Some(Wake::News(vec!["ses_1".to_owned()])));
        let asked = r#"{"type":"permission.asked","properties":{}}"#;
        assert_eq!(heard(asked), Some(Wake::Everything));
        let delta = r#"{"type":"message.part.delta","properties":{"sessionID":"ses_1"}}"#;
        let begun = r#"{"type":"message.updated","properties":{"info":{"sessionID":"ses_1","time":{"created":1}}}}"#;
        for other in [delta, begun, "", "{", "[]", r#"{"type":1}"#] {
            assert_eq!(heard(other), None, "{other}");
        }
        let whole = begun.replace("\"created\":1", "\"completed\":1");
        assert_eq!(heard(&whole), Some(Wake::News(vec!["ses_1".to_owned()])));
    }
}
