//! Ingests the entries of sessions, live or recorded: events go into the journal, raw text beside it.
//!
//! ```text
//!  entries ─▶ redact ─▶ plan: which to observe, which text is complete ─▶ raw text ─▶ blobs
//!                                  │                                          │
//!                                  ▼                                          ▼
//!     one transaction per part: observe each entry, log each text ─▶ events ─▶ journal
//! ```
//!
//! [`Observer`] derives the events; it and the files below this one are pure. This file commits, and
//! keeps state between calls: tool calls without an answer, and raw text of a turn that has not ended.

mod calls;
mod observer;
mod prompts;
mod recorder;
mod results;
mod spoken;
mod subagents;
#[cfg(test)]
mod tests;
mod todos;
mod tools;
pub mod topics;
mod words;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;

use flamestack_core::autonomy::Boundary;
use flamestack_core::command::Fork;
use flamestack_core::frame::LogEntry;
use flamestack_core::id::{Fingerprint, Timestamp};
use flamestack_core::subagent::{EndedBy, Framing};
use flamestack_core::transcript::{Call, Entry, EntryKind};
use flamestack_core::{Actor, Author, Command, Event, FrameId, Recorded, SessionRef, Title};
use flamestack_store::{Step, TextHold, transcript};

pub use self::observer::{Observation, Observer, StoredText};
pub(crate) use self::results::is_wordless;
pub use self::spoken::OWN_COMMAND;
pub(crate) use self::spoken::asked_words;
use self::topics::Track;
use crate::Engine;
use crate::autonomy::SignalReader;
use crate::autonomy::aftermath::Followed;
use crate::autonomy::heuristics::WorkSignals;
use crate::error::Result;
use crate::subagents::Tracking;

/// Raw text is stored in pieces of about this many bytes, or a turn at a time.
const PIECE: usize = 256 * 1024;
/// Maximum number of sessions whose state is kept; more than a sidecar serves.
const MAX_SESSIONS: usize = 512;
/// Maximum number of entries that one commit records. Writers of other sessions take their turns between
/// two commits, however long a list of messages a host sends.
const ENTRIES_PER_COMMIT: usize = 400;
/// Maximum number of frames that a fork copies from the original session.
const MAX_COPIES: usize = 200;

/// The sessions that an engine ingests.
pub(crate) type Ingests = BTreeMap<SessionRef, Ingest>;

/// State of one session between calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ingest {
    observer: Observer,
    /// Raw text that is not stored yet, by thread.
    pending: BTreeMap<SessionRef, PendingText>,
    /// Signals for suggestions.
    signals: SignalReader,
    /// The aftermath of the last suggestion.
    followed: Option<Followed>,
    /// Orders sessions by their last use.
    last_used: u64,
}

/// Raw text that is not stored yet.
#[derive(Clone, Debug, Default)]
struct PendingText {
    text: String,
    /// Fingerprints of its entries.
    marks: Vec<Fingerprint>,
    /// Message and time of its first entry.
    message: Option<String>,
    at: Option<Timestamp>,
}

impl Ingest {
    /// Takes the raw text of a thread, complete as it is now.
    fn take_text(&mut self, thread: &SessionRef) -> Option<IngestStep<'static>> {
        let pending = self.pending.remove(thread)?;
        Some(IngestStep::Log(thread.clone(), Box::new(pending)))
    }
}

/// Kind of the record of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IngestMode {
    /// A session that is in progress.
    #[default]
    Live,
    /// The import of a past session, which has no active frame.
    Past,
    /// A session that another program drives. That program keeps its frames: prompts and to-do lists make none.
    Driven,
}

/// Properties of an ingested session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IngestOptions {
    /// Kind of the record.
    pub mode: IngestMode,
    /// The session that started it, where it is known.
    pub parent: Option<SessionRef>,
    /// True if the host does not say which session started which: subagents are recognised by their
    /// titles.
    pub without_ids: bool,
    /// True if every subagent that ends here keeps its frame, however short its run.
    pub keeps_frames: bool,
    /// Origin of the report that a subagent ended.
    pub ended_by: EndedBy,
}

/// One step of an ingest.
enum IngestStep<'e> {
    Observe(Box<Cow<'e, Entry>>),
    Log(SessionRef, Box<PendingText>),
}

impl Engine {
    /// Ingests entries of a session that is in progress.
    ///
    /// The same entry may come any number of times. An answer is understood if its call came
    /// before, in this or an earlier call of this engine, and a turn's end if the model's last
    /// words did; a caller with a new engine sends those again.
    pub fn ingest(&self, actor: &Actor, entries: &[Entry]) -> Result<Vec<Recorded>> {
        self.ingest_with(actor, &IngestOptions::default(), entries)
    }

    /// Ingests entries of a session. Those before an error stay recorded.
    pub fn ingest_with(
        &self,
        actor: &Actor,
        options: &IngestOptions,
        entries: &[Entry],
    ) -> Result<Vec<Recorded>> {
        let mut recorded = Vec::new();
        for part in entries.chunks(ENTRIES_PER_COMMIT) {
            recorded.extend(self.ingest_part(actor, options, part)?);
        }
        Ok(recorded)
    }

    /// Ingests entries with one commit.
    fn ingest_part(
        &self,
        actor: &Actor,
        options: &IngestOptions,
        entries: &[Entry],
    ) -> Result<Vec<Recorded>> {
        let alone = self.lock_ingest(&actor.session);
        // First of all: titles, names and excerpts are cut from these texts.
        let entries = entries.iter();
        let entries = entries.map(|entry| transcript::redacted(entry, self.redactor()));
        let entries = &*entries.collect::<Vec<Entry>>();
        let mut ingest = self.ingest_of(&actor.session, options);
        if options.mode != IngestMode::Past
            && let Some(known) = self.session(&actor.session)?
        {
            self.autonomy().follow(&mut ingest.signals, &known)?;
        }
        let mut steps = self.plan(actor, &mut ingest, entries)?;
        if options.without_ids && options.parent.is_none() {
            steps.extend(self.subagent_by_title(actor, entries));
        }
        let mut recorded = self.commit_ingest(actor, &mut ingest.observer, steps)?;
        {
            let mut ingests = self.ingests();
            let last = ingests.values().map(|ingest| ingest.last_used).max();
            ingest.last_used = last.unwrap_or_default() + 1;
            ingests.insert(actor.session.clone(), ingest);
        }
        drop(alone);
        self.forget_idle_sessions();
        recorded.extend(self.summaries().complete_results(actor, &recorded)?);
        if options.mode != IngestMode::Past {
            recorded.extend(self.sessions().keep_interruptions(&recorded)?);
        }
        Ok(recorded)
    }

    /// Forgets the sessions that were idle for longest, if there are too many. Their raw text is
    /// stored; the rest can be had again from the host.
    fn forget_idle_sessions(&self) {
        loop {
            let idle = {
                let ingests = self.ingests();
                if ingests.len() <= MAX_SESSIONS {
                    return;
                }
                let oldest = ingests.iter().min_by_key(|(_, ingest)| ingest.last_used);
                oldest.map(|(session, _)| session.clone())
            };
            let Some(session) = idle else {
                return;
            };
            let actor = Actor {
                session,
                worktree: None,
                message: None,
                by: Author::Agent,
            };
            if let Err(error) = self.keep_pending(&actor) {
                tracing::warn!(session = %actor.session, "raw text not kept: {error}");
            }
            self.ingests().remove(&actor.session);
        }
    }

    /// Returns the start of a subagent if a title says that the session is one.
    fn subagent_by_title(&self, actor: &Actor, entries: &[Entry]) -> Option<IngestStep<'static>> {
        let tracking = self.tracking();
        let titles = entries.iter().filter_map(|entry| match &entry.kind {
            EntryKind::Titled { title } => Some(title),
            _ => None,
        });
        let title = titles.rev().find(|title| tracking.patterns.fit(title))?;
        let id = actor.session.id().to_owned();
        Some(IngestStep::Observe(Box::new(Cow::Owned(Entry {
            id: Some(format!("by title {id}")),
            ..Entry::of(EntryKind::SubagentStarted {
                id,
                call: None,
                kind: None,
                title: title.clone(),
                prompt: String::new(),
            })
        }))))
    }

    /// Stores the raw text of a session whose turn has not ended.
    pub fn keep_pending(&self, actor: &Actor) -> Result<Vec<Recorded>> {
        let _alone = self.lock_ingest(&actor.session);
        let known = self.ingests().get(&actor.session).cloned();
        let Some(mut ingest) = known.filter(|ingest| !ingest.pending.is_empty()) else {
            return Ok(Vec::new());
        };
        let steps = std::mem::take(&mut ingest.pending)
            .into_iter()
            .map(|(thread, text)| IngestStep::Log(thread, Box::new(text)))
            .collect();
        let recorded = self.commit_ingest(actor, &mut ingest.observer, steps)?;
        self.ingests().insert(actor.session.clone(), ingest);
        Ok(recorded)
    }

    /// Returns the boundary that a session has come to since it was last asked for.
    pub(crate) fn take_boundary(&self, session: &SessionRef) -> Option<Boundary> {
        self.ingests().get_mut(session)?.signals.boundary.take()
    }

    /// Returns the signals of a session, if this process reads it.
    pub(crate) fn known_signals(&self, session: &SessionRef) -> Option<SignalReader> {
        Some(self.ingests().get(session)?.signals.clone())
    }

    /// Returns the signals of a session and the user's newest message, if this process has read all of the
    /// session and the signals are about this frame.
    pub(crate) fn current_signals(
        &self,
        session: &SessionRef,
        frame: Option<FrameId>,
    ) -> Option<(WorkSignals, String)> {
        let mut ingests = self.ingests();
        let reader = &mut ingests.get_mut(session)?.signals;
        let is_about = reader.frame.is_none() || reader.frame == frame;
        if !reader.is_whole || !is_about {
            return None;
        }
        reader.frame = frame;
        Some((reader.signals.figures(), reader.asked.clone()))
    }

    /// Returns the part of the aftermath of a session's last suggestion that was read.
    pub(crate) fn followed(&self, session: &SessionRef) -> Option<Followed> {
        self.ingests().get(session)?.followed
    }

    /// Keeps the part of the aftermath of a session's last suggestion that was read.
    pub(crate) fn keep_followed(&self, session: &SessionRef, followed: Followed) {
        if let Some(ingest) = self.ingests().get_mut(session) {
            ingest.followed = Some(followed);
        }
    }

    /// Keeps the signals of a session that were read again.
    pub(crate) fn keep_signals(&self, session: &SessionRef, signals: &SignalReader) {
        if let Some(ingest) = self.ingests().get_mut(session) {
            ingest.signals = signals.clone();
        }
    }

    /// Returns the raw text of a session whose turn has not ended.
    pub(crate) fn pending_text(&self, session: &SessionRef) -> String {
        let ingests = self.ingests();
        let pending = ingests
            .values()
            .find_map(|ingest| ingest.pending.get(session));
        pending
            .map(|pending| pending.text.clone())
            .unwrap_or_default()
    }

    /// Ends the record of a past session: stores the rest of its raw text, completes its frame if
    /// nothing is left open, and forgets the session.
    pub fn settle(&self, actor: &Actor) -> Result<Vec<Recorded>> {
        let mut recorded = self.keep_pending(actor)?;
        let Some(mut ingest) = self.ingests().remove(&actor.session) else {
            return Ok(recorded);
        };
        let mut asked = false;
        let clock = self.clock();
        recorded.extend(self.workspace.commit_steps(&mut |reading| {
            if std::mem::replace(&mut asked, true) {
                return Ok(None);
            }
            let mut draw = || clock.draw_id();
            let observation = ingest.observer.finish(reading, actor, &mut draw)?;
            Ok(observation.map(|observation| step(observation, clock.now())))
        })?);
        recorded.extend(self.summaries().complete_results(actor, &recorded)?);
        Ok(recorded)
    }

    /// Follows a host that reverted a session to before a message, or restored it.
    ///
    /// `messages` begins with that message, followed by the later ones that are known; it is empty
    /// if the session was restored. `earlier` names the messages before it.
    pub fn wind(
        &self,
        actor: &Actor,
        messages: &[String],
        earlier: &[String],
    ) -> Result<Vec<Recorded>> {
        let mut recorded = self.keep_pending(actor)?;
        let pending = self.read(|reading| {
            let session = reading.session(&actor.session)?;
            let reverted = session.and_then(|known| known.reverted);
            Ok(reading.recorded(reverted.as_slice())?)
        })?;
        let pending = pending.into_iter().find_map(|entry| match entry.event {
            Event::SessionReverted { to, .. } => Some(to),
            _ => None,
        });
        if pending.as_ref() == messages.first() {
            return Ok(recorded);
        }
        // To another message: restores everything first, then reverts.
        if pending.is_some() {
            let forward = Command::Unrevert;
            recorded.extend(self.commands().run(actor, &forward)?.events);
        }
        if !messages.is_empty() {
            let (messages, earlier) = (messages.to_vec(), earlier.to_vec());
            let back = Command::Revert { messages, earlier };
            recorded.extend(self.commands().run(actor, &back)?.events);
        }
        if let Some(ingest) = self.ingests().get_mut(&actor.session) {
            ingest.observer.forget_turn(&actor.session);
        }
        Ok(recorded)
    }

    /// Follows a host that forked a session: the fork continues with what was open in the original and
    /// knows what was finished. `messages` pairs the original's messages with those of the fork, and
    /// `later` names the original's messages that the fork does not have.
    pub fn fork(
        &self,
        actor: &Actor,
        from: &SessionRef,
        messages: Vec<(String, String)>,
        later: Vec<String>,
    ) -> Result<Vec<Recorded>> {
        let ids = (0..MAX_COPIES).map(|_| self.clock().draw_id());
        let fork = Fork {
            from: from.clone(),
            messages,
            later,
            ids: ids.collect(),
        };
        let fork = Command::Fork(Box::new(fork));
        Ok(self.commands().run(actor, &fork)?.events)
    }

    fn ingest_of(&self, session: &SessionRef, options: &IngestOptions) -> Ingest {
        // A copy: if the commit fails, these entries must count as not observed. The signals are too large to
        // copy for each event; after a failure they are read again.
        let known = self.ingests().get_mut(session).map(|ingest| {
            let signals = std::mem::take(&mut ingest.signals);
            Ingest {
                signals,
                ..ingest.clone()
            }
        });
        let mut ingest = known.unwrap_or_else(|| Ingest {
            observer: if options.mode == IngestMode::Past {
                Observer::past()
            } else {
                Observer::live(None)
            },
            pending: BTreeMap::new(),
            signals: SignalReader::default(),
            followed: None,
            last_used: 0,
        });
        ingest.observer.set_parent(options.parent.clone());
        ingest.observer.set_ended_by(options.ended_by);
        // A past session keeps the frames of all its subagents: it will not be asked again.
        if options.mode != IngestMode::Past {
            let Tracking { framing, track, .. } = self.tracking();
            ingest.observer.set_track(match options.mode {
                IngestMode::Driven => Track::Off,
                IngestMode::Live | IngestMode::Past => track,
            });
            ingest.observer.set_framing(if options.keeps_frames {
                Framing {
                    enabled: framing.enabled,
                    ..Framing::ALL
                }
            } else {
                framing
            });
        }
        ingest
    }

    /// Plans the steps for entries: each is observed, and raw text is logged once it is complete.
    fn plan<'e>(
        &self,
        actor: &Actor,
        ingest: &mut Ingest,
        entries: &'e [Entry],
    ) -> Result<Vec<IngestStep<'e>>> {
        let known = self.known_texts(actor, entries)?;
        let mut steps = Vec::new();
        for (entry, known) in entries.iter().zip(known) {
            let thread = thread_of(&actor.session, entry);
            // A prompt begins a turn; everything before it belongs to the previous one.
            if entry.is_prompt() && !known {
                steps.extend(ingest.take_text(&thread));
            }
            let ended = match &entry.kind {
                EntryKind::SubagentEnded { id, .. } => actor.session.beside(id),
                EntryKind::TurnEnded
                | EntryKind::Interrupted { .. }
                | EntryKind::Failed { .. }
                | EntryKind::Compacted { .. } => Some(thread.clone()),
                _ => None,
            };
            if !known {
                let boundary = ingest.signals.read(entry);
                ingest.signals.boundary = boundary.or(ingest.signals.boundary);
            }
            // The call comes again with its answer.
            let is_text = !matches!(entry.kind, EntryKind::Begun(_));
            if !known && is_text {
                let pending = ingest.pending.entry(thread.clone()).or_default();
                if pending.text.is_empty() {
                    pending.message.clone_from(&entry.message);
                    pending.at = entry.at;
                }
                pending.text.push_str(&transcript::encode(entry));
                pending.marks.extend(entry.text_mark(&actor.session));
            }
            steps.push(IngestStep::Observe(Box::new(within(
                &self.project().root,
                entry,
            ))));
            let full = ingest.pending.get(&thread);
            if full.is_some_and(|pending| pending.text.len() >= PIECE) {
                steps.extend(ingest.take_text(&thread));
            }
            if let Some(ended) = ended.filter(|_| !known) {
                steps.extend(ingest.take_text(&ended));
            }
        }
        Ok(steps)
    }

    /// Returns for each entry whether its raw text is stored or pending already.
    fn known_texts(&self, actor: &Actor, entries: &[Entry]) -> Result<Vec<bool>> {
        let mut here: BTreeSet<Fingerprint> = {
            let ingests = self.ingests();
            let ingest = ingests.get(&actor.session);
            let pending = ingest
                .into_iter()
                .flat_map(|ingest| ingest.pending.values());
            pending
                .flat_map(|text| text.marks.iter().copied())
                .collect()
        };
        self.read(|reading| {
            let mut known = Vec::with_capacity(entries.len());
            for entry in entries {
                let copied = entry
                    .message
                    .as_ref()
                    .map(|message| Entry::copied_mark(&actor.session, message));
                let elsewhere = match copied {
                    Some(mark) => reading.is_seen(mark)?,
                    None => false,
                };
                known.push(match entry.text_mark(&actor.session) {
                    _ if elsewhere => true,
                    Some(mark) => !here.insert(mark) || reading.is_seen(mark)?,
                    None => false,
                });
            }
            Ok(known)
        })
    }

    /// Stores the raw text of all steps with one write. The hold keeps it until it is recorded.
    fn store_texts(
        &self,
        steps: &[IngestStep<'_>],
    ) -> Result<(Option<TextHold>, VecDeque<StoredText>)> {
        let pieces = || {
            steps.iter().filter_map(|step| match step {
                IngestStep::Observe(_) => None,
                IngestStep::Log(thread, pending) => Some((thread, pending)),
            })
        };
        let texts: Vec<&str> = pieces().map(|(_, pending)| pending.text.as_str()).collect();
        if texts.is_empty() {
            return Ok((None, VecDeque::new()));
        }
        let hold = self.workspace.hold_texts()?;
        let blobs = self.workspace.keep_texts(&hold, &texts)?;
        let pieces = pieces()
            .zip(blobs)
            .map(|((thread, pending), blob)| StoredText {
                thread: thread.clone(),
                message: pending.message.clone(),
                at: pending.at,
                entry: LogEntry {
                    label: Title::recorded(transcript::LABEL.to_owned()),
                    blob: blob.id,
                    bytes: blob.bytes,
                },
                marks: pending.marks.clone(),
            });
        Ok((Some(hold), pieces.collect()))
    }

    /// Commits steps as one command, each on the state that the ones before it led to.
    fn commit_ingest(
        &self,
        actor: &Actor,
        observer: &mut Observer,
        steps: Vec<IngestStep<'_>>,
    ) -> Result<Vec<Recorded>> {
        if steps.is_empty() {
            return Ok(Vec::new());
        }
        let (_hold, mut texts) = self.store_texts(&steps)?;
        let clock = self.clock();
        let now = clock.now();
        let mut steps = steps.into_iter();
        let mut waiting: VecDeque<Observation> = VecDeque::new();
        let mut done = false;
        let mut draw = || clock.draw_id();
        self.workspace.commit_steps(&mut |reading| {
            loop {
                if let Some(observation) = waiting.pop_front() {
                    return Ok(Some(step(observation, now)));
                }
                match steps.next() {
                    Some(IngestStep::Observe(entry)) => {
                        waiting.extend(observer.observe(reading, actor, &entry, &mut draw)?);
                    }
                    Some(IngestStep::Log(..)) => {
                        let Some(text) = texts.pop_front() else {
                            continue;
                        };
                        let logged = observer.log(reading, actor, &text, &mut draw)?;
                        waiting.extend((!logged.decision.events.is_empty()).then_some(logged));
                    }
                    None if done => return Ok(None),
                    None => {
                        done = true;
                        let known = observer.finish_batch(&actor.session);
                        return Ok(known.map(|event| Step {
                            at: now,
                            actor: actor.clone(),
                            events: vec![event],
                        }));
                    }
                }
            }
        })
    }
}

/// Returns the subagent inside of a session that an entry belongs to, else the session.
fn thread_of(session: &SessionRef, entry: &Entry) -> SessionRef {
    let agent = entry.agent.as_deref();
    let inside = agent.and_then(|agent| session.beside(agent));
    inside.unwrap_or_else(|| session.clone())
}

fn step(observation: Observation, now: Timestamp) -> Step {
    Step {
        at: observation.at.unwrap_or(now),
        actor: observation.actor,
        events: observation.decision.events,
    }
}

/// Makes the paths of an entry relative to the project where they are inside it.
fn within<'e>(root: &Path, entry: &'e Entry) -> Cow<'e, Entry> {
    let relative = |path: &String| {
        let inside = Path::new(path).strip_prefix(root).ok()?;
        Some(inside.to_string_lossy().into_owned()).filter(|inside| !inside.is_empty())
    };
    let paths = match &entry.kind {
        EntryKind::Call(call) | EntryKind::Begun(call) => &call.paths,
        EntryKind::Changed { paths } => paths,
        _ => return Cow::Borrowed(entry),
    };
    if !paths.iter().any(|path| relative(path).is_some()) {
        return Cow::Borrowed(entry);
    }
    let mut entry = entry.clone();
    if let EntryKind::Call(Call { paths, .. })
    | EntryKind::Begun(Call { paths, .. })
    | EntryKind::Changed { paths } = &mut entry.kind
    {
        for path in paths {
            if let Some(inside) = relative(path) {
                *path = inside;
            }
        }
    }
    Cow::Owned(entry)
}
