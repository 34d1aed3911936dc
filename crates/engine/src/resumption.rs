//! The text that a session gets when it continues after an interruption or a pause, and the cost of continuing.
//! `docs/architecture.md`, "Texts for a session that continues", compares this module with its relatives.
//!
//! Everything is read: nothing here sends a prompt, and no file is touched. A call whose outcome is
//! unknown is neither repeated nor reported as failed.

use std::fmt::Write as _;

use flamestack_brief::compaction::resumption;
use flamestack_core::id::Timestamp;
use flamestack_core::session::checkpoint::{InterruptionCause, InterruptionCheckpoint};
use flamestack_core::session::life::Life;
use flamestack_core::session::state::{SessionState, Signal};
use flamestack_core::session::status::Thresholds;
use flamestack_core::transcript::{Entry, EntryKind};
use flamestack_core::{Actor, Command, Event, FrameHead, Session, SessionRef, Text, enum_names};
use serde_json::{Value, json};

use crate::Engine;
use crate::brief::Drift;
use crate::error::Result;
use crate::views::time::duration;
use crate::views::{Canvas, grouped, one_line};

/// Maximum number of calls, files, commits and prompts that a text names.
const NAMED: usize = 8;
/// Maximum length of the last words of a subagent, in characters.
const RETURNED: usize = 1_200;
/// Maximum length of a quoted input, in characters.
const QUOTED: usize = 300;

enum_names! {
    /// Rule for sessions that were cut off with their host.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum ResumeRule {
        /// Nothing is said with the next message, and nothing is sent.
        Never = "never",
        /// The next message of the user is accompanied by what was cut off.
        #[default]
        Ask = "ask",
        /// The session is continued once when its host starts again.
        Auto = "auto",
    }
}

/// State of a session that is about to continue.
#[derive(Clone, Debug)]
pub struct Resumption {
    /// Everything recorded about the session.
    pub session: Session,
    /// Its life.
    pub life: Life,
    /// Time at which the state was read.
    pub now: Timestamp,
    /// Times after which its prompt is cold and its work stale.
    pub thresholds: Thresholds,
    /// The last interruption that was not followed by a continuation, with its time.
    pub interruption: Option<(Timestamp, InterruptionCheckpoint)>,
    /// The frame that it works on.
    pub frame: Option<FrameHead>,
    /// The repository then and now, where git answers.
    pub drift: Option<Drift>,
    /// The rule of the settings.
    pub rule: ResumeRule,
}

impl Engine {
    /// Returns the rule for sessions that were cut off.
    pub fn resume_rule(&self) -> Result<ResumeRule> {
        let settings = self.settings()?;
        let rule = settings.get("session.resume")?.text.trim();
        Ok(ResumeRule::from_name(rule).unwrap_or_default())
    }

    /// Returns the state of a session that is about to continue; `None` if it is unknown.
    pub fn resumption(&self, session: &SessionRef) -> Result<Option<Resumption>> {
        self.resumption_with(session, true)
    }

    fn resumption_with(
        &self,
        session: &SessionRef,
        with_files: bool,
    ) -> Result<Option<Resumption>> {
        let found = self.read(|reading| {
            let (Some(known), Some(life)) = (reading.session(session)?, reading.life(session)?)
            else {
                return Ok(None);
            };
            let interruption = if is_cut(&life) {
                reading.interruptions(session, 1)?.pop()
            } else {
                None
            };
            let frame = match known.frame() {
                Some(frame) => reading.frame(&frame)?,
                None => None,
            };
            Ok(Some((known, life, interruption, frame)))
        })?;
        let Some((session, life, interruption, frame)) = found else {
            return Ok(None);
        };
        let head = interruption
            .as_ref()
            .and_then(|(_, kept)| kept.git.as_ref())
            .and_then(|git| git.head.as_deref());
        Ok(Some(Resumption {
            drift: self.drift_since(&self.sessions().directory(&session), head, with_files),
            rule: self.resume_rule()?,
            thresholds: self.sessions().thresholds()?,
            now: self.clock().now(),
            session,
            life,
            interruption,
            frame,
        }))
    }

    /// Returns the text for a model whose session continues after an interruption, if there is anything
    /// that it has to know. Subagents that ended meanwhile hand over their results first.
    pub fn resume_notice(&self, actor: &Actor) -> Result<Option<String>> {
        // Asked with every prompt, and most follow an ordinary turn: git is not asked then.
        let life = self.read(|reading| Ok(reading.life(&actor.session)?))?;
        if !life.is_some_and(|life| is_cut(&life)) {
            return Ok(None);
        }
        let Some(state) = self.resumption_with(&actor.session, false)? else {
            return Ok(None);
        };
        let finished = if state.is_cut_off() {
            self.collect_children(actor)?
        } else {
            Vec::new()
        };
        Ok(match state.rule {
            ResumeRule::Never => None,
            ResumeRule::Ask | ResumeRule::Auto => state.notice(&finished),
        })
    }

    /// Returns the prompt with which a session that was cut off with its host is continued, after
    /// recording that it is; `None` if it must not be: the settings say so, its turn ended, or it was
    /// continued before.
    pub fn begin_resume(&self, actor: &Actor) -> Result<Option<String>> {
        if self.resume_rule()? != ResumeRule::Auto {
            return Ok(None);
        }
        let state = self.resumption(&actor.session)?;
        // A subagent is continued by the session that started it.
        let Some(state) = state.filter(|state| state.life.parent.is_none()) else {
            return Ok(None);
        };
        let recorded = self.commands().run(actor, &Command::BeginResume)?;
        let is_begun = |event: &Event| matches!(event, Event::ResumeBegun { .. });
        let is_begun = recorded.events.iter().any(|entry| is_begun(&entry.event));
        Ok(is_begun.then(|| state.continuation()))
    }

    /// Returns the sessions of a host that were cut off with it, in a worktree if one is given.
    pub fn cut_off_sessions(&self, host: &str, worktree: Option<&str>) -> Result<Vec<SessionRef>> {
        self.read(|reading| {
            let mut found = Vec::new();
            for life in reading.lives(false)? {
                let by_end_of_host = matches!(life.last.signal, Signal::Killed | Signal::Crashed);
                if life.state != SessionState::Interrupted
                    || !by_end_of_host
                    || life.session.host() != host
                {
                    continue;
                }
                let known = reading.session(&life.session)?;
                let place = known.and_then(|known| known.worktree);
                if worktree.is_none() || place.as_deref() == worktree {
                    found.push(life.session);
                }
            }
            Ok(found)
        })
    }

    /// Hands the results of subagents that ended while their parent was cut off to that parent: its call
    /// can no longer return them. Returns their sessions with their last words.
    fn collect_children(&self, actor: &Actor) -> Result<Vec<(SessionRef, Text)>> {
        let parent = &actor.session;
        let finished = self.read(|reading| {
            let mut finished = Vec::new();
            for run in reading.runs_of(parent)? {
                let life = reading.life(&run.session)?;
                let has_turned = life.is_some_and(|life| life.state == SessionState::BetweenTurn);
                let known = reading.session(&run.session)?;
                let said = known.and_then(|known| known.activity.said);
                if run.state.is_in_flight()
                    && has_turned
                    && let Some(said) = said
                {
                    finished.push((run.session, said));
                }
            }
            Ok(finished)
        })?;
        for (child, said) in &finished {
            let ended = Entry::from(EntryKind::SubagentEnded {
                id: child.id().to_owned(),
                ok: true,
                text: said.as_str().to_owned(),
            });
            self.ingest(actor, &[ended])?;
        }
        Ok(finished)
    }
}

impl Resumption {
    /// Returns true if the session was cut off by the end of its host.
    pub fn is_cut_off(&self) -> bool {
        let cause = self.interruption.as_ref().map(|(_, kept)| kept.cause);
        matches!(
            cause,
            Some(InterruptionCause::Crash | InterruptionCause::Kill)
        )
    }

    /// Returns the text for the model; `None` if nothing was left open.
    fn notice(&self, finished: &[(SessionRef, Text)]) -> Option<String> {
        let (at, kept) = self.interruption.as_ref()?;
        let mut lines = self.open_ends(kept);
        for (child, said) in finished.iter().take(NAMED) {
            let said = one_line(said.as_str(), RETURNED);
            lines.push(format!("The subagent {child} has finished: {said}"));
        }
        // A turn that the user stopped between two calls left nothing to check.
        if lines.is_empty() && !self.is_cut_off() {
            return None;
        }
        let mut text = format!(
            "The last turn was cut off at {at}: {}.\n",
            cause(kept.cause)
        );
        for line in lines {
            text.push_str(&line);
            text.push('\n');
        }
        text.push_str(
            "Nothing of this was repeated or taken back. The user's message decides what happens next.",
        );
        Some(resumption(&text))
    }

    /// Returns the prompt of a session that is continued automatically.
    fn continuation(&self) -> String {
        let goal = self.frame.as_ref().map(|frame| frame.title.as_str());
        let goal = goal.map_or(String::new(), |goal| format!(" on “{goal}”"));
        format!(
            "(Sent by Flamestack, because `session.resume` is `auto`.) The host ended during the last \
             turn. Go on with the work{goal}: first verify the calls whose outcome is unknown, then do \
             the next open step."
        )
    }

    /// Returns what the interruption left open, one line each.
    fn open_ends(&self, kept: &InterruptionCheckpoint) -> Vec<String> {
        let mut lines = Vec::new();
        for call in kept.in_flight.iter().take(NAMED) {
            lines.push(format!(
                "Outcome unknown, verify first: {} `{}` ({})",
                call.start.tool,
                one_line(&call.start.input, QUOTED),
                call.start.check()
            ));
        }
        if kept.in_flight.len() > NAMED {
            let more = kept.in_flight.len() - NAMED;
            lines.push(format!("Outcome unknown of {more} further calls."));
        }
        if !kept.files.is_empty() {
            let files = named(&kept.files);
            lines.push(format!(
                "Named since the last finished step, so possibly half done: {files}"
            ));
        }
        for prompt in kept.queued.iter().take(NAMED) {
            let words = one_line(prompt.words.as_str(), QUOTED);
            lines.push(format!(
                "A prompt was waiting and has not been seen: “{words}”"
            ));
        }
        lines.extend(self.drift.as_ref().and_then(drifted));
        lines
    }

    /// Returns what an interruption left open, for the session that takes the work over; empty if nothing was.
    pub(crate) fn for_hand_off(&self) -> String {
        let Some((at, kept)) = &self.interruption else {
            return String::new();
        };
        let mut text = format!(
            "## Cut off\n\nThe last turn was cut off at {at}: {}.\n",
            cause(kept.cause)
        );
        for line in self.open_ends(kept) {
            text.push_str(&format!("- {line}\n"));
        }
        text + "\n"
    }

    /// Returns the number of tokens that the next message sends again because no cache has them.
    pub fn cold_tokens(&self) -> u64 {
        let status = self.life.status(self.now, &self.thresholds);
        if status.is_cold {
            self.session.activity.size
        } else {
            0
        }
    }

    /// Describes the state for the user.
    pub fn text(&self, canvas: &Canvas<'_>) -> String {
        let status = self.life.status(self.now, &self.thresholds);
        let mut text = format!(
            "{}  {} since {}: {}\n",
            self.session.key,
            status.state.as_str(),
            canvas.time(status.since),
            one_line(&status.why, QUOTED)
        );
        let mut fact = |name: &str, value: &str| {
            // Writing into a string cannot fail.
            let _ = writeln!(text, "  {name:9} {value}");
        };
        if let Some(frame) = &self.frame {
            let title = one_line(frame.title.as_str(), 100);
            fact("frame", &format!("{} {title} ({})", frame.id, frame.status));
        }
        match &self.interruption {
            Some((_, kept)) => {
                let lines = self.open_ends(kept);
                for line in &lines {
                    fact("open", line);
                }
                if lines.is_empty() {
                    fact("open", "no call was in flight and no prompt was waiting");
                }
            }
            None => {
                if let Some(line) = self.drift.as_ref().and_then(drifted) {
                    fact("git", &line);
                }
            }
        }
        fact("cache", &self.cache());
        if self.session.activity.resumes > 0 {
            let tries = self.session.activity.resumes;
            fact(
                "attempts",
                &format!("{tries}, none of which has ended a turn"),
            );
        }
        fact("continue", &self.way_on());
        if self.session.key.host() == "opencode" {
            fact(
                "go back",
                "`/undo` in OpenCode takes back the last message and the file changes of its turn; \
                 Flamestack changes no file",
            );
        }
        text
    }

    /// Describes the age of the prompt cache and the cost of the next message.
    fn cache(&self) -> String {
        let status = self.life.status(self.now, &self.thresholds);
        let silent = duration(status.silent);
        let size = self.session.activity.size;
        match (size, status.is_cold) {
            (0, _) => format!("silent for {silent}; the size of its prompt is not known"),
            (_, true) => format!(
                "cold after {silent}: the next message sends about {} tokens again at full price; \
                 a new session with `flame session migrate` needs only the brief",
                grouped(size)
            ),
            (_, false) => format!(
                "warm, {silent} old: about {} tokens are cached",
                grouped(size)
            ),
        }
    }

    fn way_on(&self) -> String {
        let rule = match self.rule {
            ResumeRule::Auto => "continued once when the host starts (`session.resume = auto`)",
            ResumeRule::Ask => "nothing runs until you type (`session.resume = ask`)",
            ResumeRule::Never => "nothing runs or is said (`session.resume = never`)",
        };
        let described = &self.session.description;
        let mut facts = Vec::new();
        if let Some(directory) = &described.directory {
            facts.push(format!("in {}", one_line(directory.as_str(), 120)));
        }
        if let Some(agent) = &described.agent {
            facts.push(format!("agent {agent}"));
        }
        if let Some(model) = &self.session.model {
            facts.push(format!("model {}", model.name));
        }
        let facts = if facts.is_empty() {
            String::new()
        } else {
            format!(" ({})", facts.join(", "))
        };
        let command = match self.session.key.host() {
            "opencode" => format!("`opencode --session {}`{facts}; ", self.session.key.id()),
            _ => format!("in its host{facts}; "),
        };
        format!("{command}{rule}")
    }

    /// Returns the state as JSON.
    pub fn value(&self) -> Value {
        let status = self.life.status(self.now, &self.thresholds);
        let described = &self.session.description;
        let text = |text: &Option<Text>| text.as_ref().map(ToString::to_string);
        json!({
            "session": self.session.key.to_string(),
            "state": status.state.as_str(),
            "since": status.since.0,
            "why": status.why,
            "frame": self.frame.as_ref().map(|frame| frame.id.to_string()),
            "interruption": self.interruption.as_ref().map(|(at, kept)| json!({
                "at": at.0,
                "cause": kept.cause.as_str(),
                "inFlight": kept.in_flight.iter().map(|call| json!({
                    "call": call.start.call,
                    "tool": call.start.tool,
                    "input": call.start.input,
                    "outcome": "unknown",
                    "check": call.start.check(),
                })).collect::<Vec<_>>(),
                "files": kept.files,
                "queued": kept.queued.iter().map(|prompt| prompt.words.as_str()).collect::<Vec<_>>(),
            })),
            "git": self.drift.as_ref().map(|drift| json!({
                "before": drift.before,
                "now": drift.now,
                "moved": drift.has_moved(),
                "commits": drift.commits.as_ref().map(|all| all.iter().map(|commit| json!({
                    "id": commit.id, "subject": commit.subject,
                })).collect::<Vec<_>>()),
                "uncommitted": drift.dirty_total,
            })),
            "cache": {
                "silentMs": status.silent,
                "cold": status.is_cold,
                "promptTokens": self.session.activity.size,
                "coldTokens": self.cold_tokens(),
            },
            "attempts": self.session.activity.resumes,
            "resume": self.rule.as_str(),
            "directory": text(&described.directory),
            "agent": text(&described.agent),
            "model": self.session.model.as_ref().map(|model| model.name.to_string()),
        })
    }
}

/// Returns true if the last turn of a session did not end by itself.
fn is_cut(life: &Life) -> bool {
    matches!(life.state, SessionState::Interrupted | SessionState::Failed)
}

fn cause(cause: InterruptionCause) -> &'static str {
    match cause {
        InterruptionCause::Abort => "the user stopped it",
        InterruptionCause::Failure => "an error ended it",
        InterruptionCause::Kill => "the host ended",
        InterruptionCause::Crash => "the host's process is gone",
    }
}

/// Describes how the repository has changed; `None` if it has not.
fn drifted(drift: &Drift) -> Option<String> {
    if !drift.has_moved() {
        return None;
    }
    let short = |commit: &Option<String>| {
        let commit = commit.as_deref().unwrap_or("nothing");
        commit.get(..8).unwrap_or(commit).to_owned()
    };
    let what = match &drift.commits {
        None => "the earlier commit is no longer known".to_owned(),
        Some(commits) if commits.is_empty() => "an earlier commit is checked out".to_owned(),
        Some(commits) => {
            let subjects: Vec<String> = commits
                .iter()
                .take(NAMED)
                .map(|commit| format!("{} {}", commit.id, one_line(&commit.subject, 80)))
                .collect();
            subjects.join("; ")
        }
    };
    Some(format!(
        "The repository has moved from {} to {}: {what}",
        short(&drift.before),
        short(&drift.now)
    ))
}

fn named(paths: &[String]) -> String {
    let some: Vec<String> = paths
        .iter()
        .take(NAMED)
        .map(|path| one_line(path, 120))
        .collect();
    match paths.len().saturating_sub(NAMED) {
        0 => some.join(", "),
        more => format!("{} and {more} more", some.join(", ")),
    }
}
