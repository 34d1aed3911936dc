//! OpenCode's server as a [`Host`].

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::{Client, Login};
use super::events::Events;
use super::server::{ServerPlan, ServerProcess};
use super::turns::{Work, view};
use super::wire::{WireHealth, WireMessage, WirePermission, WireQuestions, WireSession};
use super::{ids, wire};
use crate::host::{
    Ask, AskKind, Host, HostError, Outgoing, Reply, SessionLocation, SessionWanted, TurnView, Wake,
};

/// Oldest version whose messages and ids behave as measured.
const OLDEST: (u64, u64) = (1, 18);
/// Time for which a turn must look cut off before it is treated as such: at its end a session is idle
/// for a moment before its last message is stored.
const CUT_AFTER: Duration = Duration::from_millis(2_500);
/// Time within which an accepted prompt is stored.
const STORED: Duration = Duration::from_secs(20);
/// Time that a server may be away.
const AWAY: Duration = Duration::from_mins(1);
/// Number of failures in a row after which a server is given up.
const FAILURES: u32 = 20;
/// Field of a session's metadata that is ours.
const FIELD: &str = "flamestack";
/// Maximum number of sessions that are searched for ours.
const SESSIONS: u32 = 10_000;

/// A server of OpenCode 1.
#[derive(Debug)]
pub struct OpenCodeHost {
    client: Client,
    events: Events,
    directory: PathBuf,
    directories: BTreeSet<PathBuf>,
    own: Option<(ServerPlan, ServerProcess)>,
    /// The server's clock, less ours, in milliseconds.
    skew: i64,
    cut_since: BTreeMap<String, Instant>,
    parents: BTreeMap<String, Option<String>>,
    /// Number of failures since a call succeeded.
    failures: u32,
    /// True if the last call that changes something failed: reading well proves nothing then.
    writes_fail: bool,
}

impl OpenCodeHost {
    /// Connects to a running server.
    pub fn connect(login: Login, directory: &Path) -> Result<Self, HostError> {
        let mut host = Self {
            client: Client::new(login.clone()),
            events: Events::new(login),
            directory: directory.to_owned(),
            directories: BTreeSet::new(),
            own: None,
            skew: 0,
            cut_since: BTreeMap::new(),
            parents: BTreeMap::new(),
            failures: 0,
            writes_fail: false,
        };
        host.check()?;
        host.listen(None);
        Ok(host)
    }

    /// Starts a server and connects to it.
    pub fn start(plan: ServerPlan) -> Result<Self, HostError> {
        let server = ServerProcess::start(&plan)?;
        let mut host = Self::connect(server.login.clone(), &plan.directory)?;
        host.own = Some((plan, server));
        Ok(host)
    }

    /// Returns the server's address.
    pub fn url(&self) -> &str {
        &self.client.login.url
    }

    /// Checks that it is OpenCode, and a version that is known to work.
    fn check(&self) -> Result<(), HostError> {
        let url = || self.client.login.url.clone();
        let health: WireHealth = match self.client.get("/global/health", None) {
            Err(HostError::Refused { status, .. }) => {
                return Err(HostError::Stranger {
                    url: url(),
                    reason: format!("it answers {status} to /global/health"),
                });
            }
            Err(HostError::Unreadable { reason }) => {
                return Err(HostError::Stranger { url: url(), reason });
            }
            other => other?,
        };
        if !health.healthy || health.version.is_empty() {
            return Err(HostError::Stranger {
                url: url(),
                reason: "it does not say that it is healthy".to_owned(),
            });
        }
        let mut numbers = health.version.split('.').map(|part| part.parse().ok());
        let version = (
            numbers.next().flatten().unwrap_or_default(),
            numbers.next().flatten().unwrap_or_default(),
        );
        if version < OLDEST {
            return Err(HostError::TooOld {
                found: health.version,
                needed: format!("{}.{}", OLDEST.0, OLDEST.1),
            });
        }
        Ok(())
    }

    fn listen(&mut self, directory: Option<&Path>) {
        let directory = directory.unwrap_or(&self.directory).to_owned();
        self.events.listen(&directory);
        self.directories.insert(directory);
    }

    fn place<'s>(&'s self, directory: Option<&'s Path>) -> &'s Path {
        directory.unwrap_or(&self.directory)
    }

    fn work(&self, location: &SessionLocation) -> Result<Work, HostError> {
        let place = Some(self.place(location.directory.as_deref()));
        let all: Value = self.client.get("/session/status", place)?;
        let Some(status) = all.get(&location.session) else {
            return Ok(Work::Idle);
        };
        let kind = status.get("type").and_then(Value::as_str);
        Ok(match kind {
            Some("retry") => {
                let message = status.get("message").and_then(Value::as_str);
                Work::Retry {
                    message: message.unwrap_or_default().to_owned(),
                    next: status.get("next").and_then(Value::as_i64).unwrap_or(0),
                }
            }
            Some("idle") | None => Work::Idle,
            Some(_) => Work::Busy,
        })
    }

    fn messages(&self, location: &SessionLocation) -> Result<Vec<WireMessage>, HostError> {
        let place = Some(self.place(location.directory.as_deref()));
        let path = format!("/session/{}/message", location.session);
        let found: Option<Vec<WireMessage>> = self.client.find(&path, place)?;
        let mut messages = found.ok_or_else(|| HostError::NoSession {
            session: location.session.clone(),
        })?;
        messages.sort_by(|a, b| a.info.id.cmp(&b.info.id));
        Ok(messages)
    }

    /// Returns the session above all that started this one: subagents ask for permission, too.
    fn top(&mut self, session: &str, directory: &Path) -> String {
        let mut at = session.to_owned();
        for _ in 0..32 {
            if !self.parents.contains_key(&at) {
                let path = format!("/session/{at}");
                let found = self.client.find::<WireSession>(&path, Some(directory));
                let parent = found.ok().flatten().and_then(|found| found.parent);
                self.parents.insert(at.clone(), parent);
            }
            match self.parents.get(&at).cloned().flatten() {
                Some(parent) => at = parent,
                None => break,
            }
        }
        at
    }

    /// Starts our own server again if it is gone. Its guard may take a moment to see that it is.
    fn restart(&mut self) -> Result<(), HostError> {
        let gone = match &mut self.own {
            Some((_, server)) => !server.is_running(),
            None => false,
        };
        if gone && let Some((plan, _)) = self.own.take() {
            let server = ServerProcess::start(&plan)?;
            self.client = Client::new(server.login.clone());
            self.events = Events::new(server.login.clone());
            for directory in std::mem::take(&mut self.directories) {
                self.listen(Some(&directory));
            }
            self.own = Some((plan, server));
        }
        Ok(())
    }

    /// Makes a call that changes something.
    fn write(
        &mut self,
        path: &str,
        place: Option<&Path>,
        body: &Value,
    ) -> Result<Value, HostError> {
        let place = self.place(place);
        let made = self.client.post(path, Some(place), body);
        self.writes_fail = made.as_ref().is_err_and(HostError::is_unknown);
        if made.is_ok() {
            self.failures = 0;
        }
        made
    }

    /// Waits until a prompt is stored. The server acknowledges it before that, and one that was killed in
    /// between knew nothing of a prompt that it had accepted.
    fn wait_until_stored(
        &mut self,
        location: &SessionLocation,
        message: &str,
    ) -> Result<(), HostError> {
        let end = Instant::now() + STORED;
        while !self.has(location, message)? {
            if Instant::now() >= end {
                return Err(HostError::Unreachable {
                    url: self.client.login.url.clone(),
                    reason: "a prompt was accepted and not stored".to_owned(),
                });
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Notes the difference between the server's clock and ours.
    fn measure_skew(&mut self, created: Option<i64>, now: i64) {
        let skew = created.map_or(0, |created| created - now);
        // Anything smaller is the latency of the call.
        self.skew = if skew.abs() > 1_000 { skew } else { 0 };
    }
}

fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    i64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(i64::MAX)
}

/// Sets a field of an object.
fn set(body: &mut Value, name: &str, value: Value) {
    if let Some(fields) = body.as_object_mut() {
        fields.insert(name.to_owned(), value);
    }
}

fn metadata(wanted: &SessionWanted) -> Value {
    let key = &wanted.key;
    json!({"run": key.run, "frame": key.frame, "attempt": key.attempt})
}

impl Host for OpenCodeHost {
    fn name(&self) -> &'static str {
        "opencode"
    }

    fn message_ids(&self, now: i64, seed: &str, parts: usize) -> (String, Vec<String>) {
        // A little early, so that the answer is never ordered before its prompt.
        let at = now + self.skew - 1;
        let message = ids::make("msg", at, 1, seed);
        let parts = (0..parts).map(|part| ids::make("prt", at, part as u64 + 1, seed));
        (message, parts.collect())
    }

    fn create(&mut self, wanted: &SessionWanted) -> Result<String, HostError> {
        self.listen(wanted.directory.as_deref());
        // Linked by metadata: a session with a parent could not be typed into.
        let mut body = json!({"title": wanted.title, "metadata": {FIELD: metadata(wanted)}});
        if !wanted.without_tools.is_empty() {
            let rules = wanted.without_tools.iter();
            let rules =
                rules.map(|tool| json!({"permission": tool, "pattern": "*", "action": "deny"}));
            set(&mut body, "permission", rules.collect());
        }
        let asked = now();
        let made = self.write("/session", wanted.directory.as_deref(), &body)?;
        let made: WireSession =
            serde_json::from_value(made).map_err(|error| HostError::Unreadable {
                reason: error.to_string(),
            })?;
        self.measure_skew(made.time.created, asked);
        Ok(made.id)
    }

    fn find(&mut self, wanted: &SessionWanted) -> Result<Option<String>, HostError> {
        self.listen(wanted.directory.as_deref());
        let place = Some(self.place(wanted.directory.as_deref()));
        let path = format!("/session?limit={SESSIONS}");
        let all: Vec<WireSession> = self.client.get(&path, place)?;
        let ours = metadata(wanted);
        let found = all.into_iter().find(|session| {
            let metadata = session.metadata.as_ref();
            metadata.and_then(|metadata| metadata.get(FIELD)) == Some(&ours)
        });
        Ok(found.map(|session| session.id))
    }

    fn send(&mut self, location: &SessionLocation, message: &Outgoing) -> Result<(), HostError> {
        self.listen(location.directory.as_deref());
        let parts = message.parts.iter().map(|(id, text)| {
            // Shown to the model, but not as the user's own words.
            json!({"id": id, "type": "text", "text": text, "synthetic": !message.wants_reply})
        });
        let parts: Vec<Value> = parts.collect();
        let mut body = json!({"messageID": message.id, "parts": parts});
        if let Some(model) = &message.model {
            let model = json!({"providerID": model.provider, "modelID": model.model});
            set(&mut body, "model", model);
        }
        if let Some(agent) = &message.agent {
            set(&mut body, "agent", json!(agent));
        }
        if let Some(system) = &message.system {
            set(&mut body, "system", json!(system));
        }
        let call = if message.wants_reply {
            "prompt_async"
        } else {
            set(&mut body, "noReply", json!(true));
            "message"
        };
        let path = format!("/session/{}/{call}", location.session);
        self.write(&path, location.directory.as_deref(), &body)?;
        self.cut_since.remove(&location.session);
        if message.wants_reply {
            self.wait_until_stored(location, &message.id)?;
        }
        Ok(())
    }

    fn has(&mut self, location: &SessionLocation, message: &str) -> Result<bool, HostError> {
        let place = Some(self.place(location.directory.as_deref()));
        let path = format!("/session/{}/message/{message}", location.session);
        let found: Option<wire::WireMessage> = self.client.find(&path, place)?;
        Ok(found.is_some())
    }

    fn stored(&mut self, location: &SessionLocation) -> Result<Vec<Value>, HostError> {
        let place = Some(self.place(location.directory.as_deref()));
        let path = format!("/session/{}/message", location.session);
        let found: Option<Vec<Value>> = self.client.find(&path, place)?;
        Ok(found.unwrap_or_default())
    }

    fn turn(&mut self, location: &SessionLocation, message: &str) -> Result<TurnView, HostError> {
        self.listen(location.directory.as_deref());
        // The status first: a turn that ends in between is then seen as ended, not as cut off.
        let work = self.work(location)?;
        let messages = self.messages(location)?;
        if !self.writes_fail {
            self.failures = 0;
        }
        let place = location.directory.as_deref().unwrap_or(&self.directory);
        let seen = view(&messages, message, &work, place);
        let TurnView::Cut { spent, .. } = &seen else {
            self.cut_since.remove(&location.session);
            return Ok(seen);
        };
        let spent = *spent;
        let since = self.cut_since.entry(location.session.clone());
        let since = *since.or_insert_with(Instant::now);
        if since.elapsed() < CUT_AFTER {
            return Ok(TurnView::Running {
                progress: 0,
                doing: None,
                spent,
            });
        }
        Ok(seen)
    }

    fn discard(&mut self, location: &SessionLocation, message: &str) -> Result<(), HostError> {
        let messages = self.messages(location)?;
        let place = Some(self.place(location.directory.as_deref()));
        let after = messages.iter().filter(|one| {
            let is_answer = one.info.role == "assistant" && one.info.id.as_str() > message;
            is_answer && one.info.time.completed.is_none() && one.info.error.is_none()
        });
        for partial in after {
            let path = format!("/session/{}/message/{}", location.session, partial.info.id);
            self.client.delete(&path, place)?;
        }
        Ok(())
    }

    fn stop(&mut self, location: &SessionLocation) -> Result<(), HostError> {
        let path = format!("/session/{}/abort", location.session);
        match self.write(&path, location.directory.as_deref(), &json!({})) {
            Err(HostError::Refused { status: 404, .. }) => Ok(()),
            other => other.map(|_| ()),
        }
    }

    fn asks(&mut self) -> Result<Vec<Ask>, HostError> {
        let mut all = Vec::new();
        for directory in self.directories.clone() {
            let place = Some(directory.as_path());
            let permissions: Vec<WirePermission> = self.client.get("/permission", place)?;
            let questions: Vec<WireQuestions> = self.client.get("/question", place)?;
            for one in permissions {
                all.push(Ask {
                    id: one.id,
                    session: self.top(&one.session, &directory),
                    kind: AskKind::Permission {
                        permission: one.permission,
                        patterns: one.patterns,
                    },
                });
            }
            for one in questions {
                let questions = one.questions.into_iter().map(|question| {
                    let options = question.options.into_iter().map(|option| option.label);
                    (question.question, options.collect())
                });
                all.push(Ask {
                    id: one.id,
                    session: self.top(&one.session, &directory),
                    kind: AskKind::Questions(questions.collect()),
                });
            }
        }
        Ok(all)
    }

    fn answer(&mut self, ask: &Ask, reply: &Reply) -> Result<(), HostError> {
        let is_permission = matches!(ask.kind, AskKind::Permission { .. });
        let (path, body) = match reply {
            Reply::Once if is_permission => (
                format!("/permission/{}/reply", ask.id),
                json!({"reply": "once"}),
            ),
            Reply::Always if is_permission => (
                format!("/permission/{}/reply", ask.id),
                json!({"reply": "always"}),
            ),
            Reply::Reject(reason) if is_permission => (
                format!("/permission/{}/reply", ask.id),
                json!({"reply": "reject", "message": reason}),
            ),
            Reply::Answers(answers) => (
                format!("/question/{}/reply", ask.id),
                json!({"answers": answers}),
            ),
            _ => (format!("/question/{}/reject", ask.id), json!({})),
        };
        // The request belongs to one directory; the others do not know it.
        let mut last = Ok(());
        for directory in self.directories.clone() {
            last = match self.client.post(&path, Some(&directory), &body) {
                Ok(_) => return Ok(()),
                Err(error) => Err(error),
            };
        }
        last
    }

    fn wait(&mut self, at_most: Duration) -> Wake {
        // A turn that looks cut off is looked at again soon.
        let soon = Duration::from_millis(500);
        let at_most = if self.cut_since.is_empty() {
            at_most
        } else {
            at_most.min(soon)
        };
        match self.events.wait(at_most) {
            Wake::Quiet if !self.cut_since.is_empty() => Wake::Everything,
            other => other,
        }
    }

    fn revive(&mut self) -> Result<(), HostError> {
        self.failures += 1;
        if self.failures > FAILURES {
            return Err(HostError::Unreachable {
                url: self.client.login.url.clone(),
                reason: format!("{FAILURES} calls failed in a row"),
            });
        }
        self.cut_since.clear();
        let end = Instant::now() + AWAY;
        loop {
            std::thread::sleep(Duration::from_millis(250));
            self.restart()?;
            match self.check() {
                Err(error) if error.is_unknown() && Instant::now() < end => {}
                other => return other,
            }
        }
    }
}
