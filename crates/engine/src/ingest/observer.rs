//! Derives events from the entries of a session: the same for a live host and for a recorded file.
//!
//! An [`Observer`] takes one entry after the other and decides which events follow from it, on the
//! state that the entries before it led to. It never refuses: what cannot be recorded is left out.
//! These are the rules:
//!
//! - A session has its own frame from the first entry that matters, named after the first prompt
//!   until the host has a title for it. The first prompt needs no other frame; from the second one
//!   on, each prompt is a frame below the session's.
//! - Where topics are tracked ([`Track::Auto`]), a prompt of the same topic belongs to the frame of the
//!   one before it. Where nothing is tracked, prompts, items and subagents have no frames.
//! - A prompt's frame ends at the next prompt: with the model's last words as its results, or as
//!   failed if the user interrupted it.
//! - No session works on such derived frames. While a session works on a frame that was pushed, a
//!   prompt opens none: it is only kept as a directive. A push that answers a prompt replaces the prompt's
//!   frame, if that has nothing but raw text.
//! - The user's words are kept verbatim in the frame that the session works on; text that the host
//!   adds on the user's side is not.
//! - A parent's instructions to its subagent are not the user's words.
//! - Messages that a fork copied belong to the original session and are not recorded again.
//! - An entry that was recorded before informs later ones and is not recorded again.

use std::collections::{BTreeMap, BTreeSet};

use flamestack_core::decide::{DecideResult, Decider};
use flamestack_core::frame::LogEntry;
use flamestack_core::id::{Fingerprint, Timestamp};
use flamestack_core::stall::StallWatch;
use flamestack_core::subagent::{EndedBy, Framing};
use flamestack_core::transcript::{Call, CallKind, Entry, EntryKind, Speaker};
use flamestack_core::{Actor, Author, DecideError, Decided, Event, FrameId, SessionRef, TreeQuery};
use flamestack_extract::state::watch_call;

use super::recorder::EntryRecorder;
use super::results::ended_by_error;
use super::spoken::spoken;
use super::thread_of;
use super::topics::{TopicReader, Track};

/// Memory of one session from one entry to the next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observer {
    /// True if the session is in progress. A past session works on nothing.
    live: bool,
    /// The session that started this one.
    parent: Option<SessionRef>,
    pub(super) framing: Framing,
    track: Track,
    topics: TopicReader,
    ended_by: EndedBy,
    /// Calls without an answer so far.
    calls: BTreeMap<String, Call>,
    /// The model's last words since the last prompt, by thread.
    said: BTreeMap<SessionRef, String>,
    /// The current turn, by thread.
    turns: BTreeMap<SessionRef, ObservedTurn>,
    /// Repetitions since the last prompt, by thread.
    stalls: BTreeMap<SessionRef, StallWatch>,
    /// Answers and prompts that were followed already. Hosts send them again, and the journal marks
    /// only those that led to something.
    watched: BTreeSet<Fingerprint>,
    /// Titles that the host gave to sessions, which may not have a frame yet.
    titles: BTreeMap<SessionRef, String>,
    /// Fingerprints of entries recorded since the last [`Observer::finish_batch`].
    marks: BTreeSet<Fingerprint>,
    /// True if anything was recorded since then, with a fingerprint or without.
    recorded: bool,
    /// Time of the newest entry that has one.
    latest: Option<Timestamp>,
}

/// Observations of a turn since its prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ObservedTurn {
    /// True if its prompt was seen.
    is_begun: bool,
    /// True if it ended without being stopped.
    is_ended: bool,
    calls: TurnCalls,
}

/// Calls of tools in a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum TurnCalls {
    /// None.
    #[default]
    None,
    /// Some, all before the model's last words.
    BeforeWords,
    /// Some after the model's last words.
    AfterWords,
}

impl ObservedTurn {
    /// Returns true if the turn ended though the model did nothing, given that it said nothing.
    pub(super) fn is_empty_answer(self) -> bool {
        self.is_begun && self.is_ended && self.calls == TurnCalls::None
    }

    /// Returns true if its record breaks off: the model was at work, and did not say how it went.
    pub(super) fn is_broken_off(self) -> bool {
        self.calls == TurnCalls::AfterWords && !self.is_ended
    }
}

/// Events derived from one transcript entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// The session, or the thread inside of it, and the message that caused them.
    pub actor: Actor,
    /// Time of the entry, where it is known.
    pub at: Option<Timestamp>,
    /// The events.
    pub decision: Decided,
}

/// Raw text of a session that has been written to the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredText {
    /// The session, or the subagent inside of it, that the text belongs to.
    pub thread: SessionRef,
    /// The first message of the text.
    pub message: Option<String>,
    /// Time of its first entry.
    pub at: Option<Timestamp>,
    /// Reference to the stored text.
    pub entry: LogEntry,
    /// Fingerprints of its entries.
    pub marks: Vec<Fingerprint>,
}

impl Observer {
    /// Observes a session that is in progress.
    pub fn live(parent: Option<SessionRef>) -> Self {
        Self {
            live: true,
            parent,
            ..Self::default()
        }
    }

    /// Observes the record of a past session.
    pub fn past() -> Self {
        Self::default()
    }

    /// Sets the session that started this one, unless it is known already.
    pub fn set_parent(&mut self, parent: Option<SessionRef>) {
        if self.parent.is_none() {
            self.parent = parent;
        }
    }

    /// Sets which subagents become frames; by default all of them do.
    pub fn set_framing(&mut self, framing: Framing) {
        self.framing = framing;
    }

    /// Sets the work that becomes a frame without a tool call.
    pub fn set_track(&mut self, track: Track) {
        self.track = track;
    }

    /// Sets who reported the end of a subagent.
    pub fn set_ended_by(&mut self, by: EndedBy) {
        self.ended_by = by;
    }

    /// Forgets open calls and last words, because the host reverted or restored the session: the
    /// journal has whatever of them still counts.
    pub fn forget_turn(&mut self, session: &SessionRef) {
        self.said.remove(session);
        self.turns.remove(session);
        self.stalls.remove(session);
        self.calls.clear();
    }

    /// Derives the events of an entry. `draw` draws ids for new frames.
    ///
    /// Several observations must be recorded in order, before the next entry is observed.
    pub fn observe<N: TreeQuery + ?Sized>(
        &mut self,
        tree: &N,
        actor: &Actor,
        entry: &Entry,
        draw: &mut dyn FnMut() -> FrameId,
    ) -> Result<Vec<Observation>, DecideError<N::Error>> {
        let mark = entry.mark(&actor.session);
        let known = match mark {
            Some(mark) => self.marks.contains(&mark) || tree.is_seen(mark)?,
            None => false,
        };
        let known = known || self.is_copied(tree, actor, entry)?;
        let thread = thread_of(&actor.session, entry);
        if let EntryKind::Titled { title } = &entry.kind {
            self.titles.insert(thread.clone(), title.clone());
        }
        // A prompt clears the last words, which are the results of the turn that it ends.
        let said = self.said.get(&thread).cloned();
        let turn = self.turns.get(&thread).copied().unwrap_or_default();
        let begins_topic = self.track == Track::Auto && self.topics.read(entry);
        let call = self.remember(&thread, entry);
        self.watch(&thread, entry, mark, call.as_ref());
        self.latest = entry.at.or(self.latest);
        if known {
            return Ok(Vec::new());
        }
        let acting = Actor {
            session: thread,
            worktree: actor.worktree.clone(),
            message: entry.message.clone(),
            by: Author::Agent,
        };
        let stall = self.stalls.get(&acting.session).and_then(StallWatch::stall);
        let mut recorder = self.recorder(tree, &actor.session, &acting, entry.at, draw)?;
        recorder.said = said;
        recorder.turn = turn;
        recorder.begins_topic = begins_topic;
        let is_answer = matches!(entry.kind, EntryKind::Answer(_));
        match recorder.record(entry, call.as_ref()) {
            Ok(()) => {}
            // The user has rearranged the tree, so this no longer applies.
            Err(DecideError::Refused(_)) => return Ok(Vec::new()),
            Err(unreadable) => return Err(unreadable),
        }
        if is_answer {
            recorder.stalled(stall);
        }
        let EntryRecorder {
            decider,
            opening,
            noticed,
            ..
        } = recorder;
        let decision = decider.into_decision();
        self.recorded |= !decision.events.is_empty();
        let is_marked = !decision.events.is_empty() || depends_on_time(&entry.kind, call.as_ref());
        if let Some(mark) = mark.filter(|_| is_marked) {
            self.marks.insert(mark);
        }
        self.marks.extend(noticed);
        let decisions = opening
            .into_iter()
            .chain([(entry.message.clone(), decision)]);
        Ok(decisions
            .filter(|(_, decision)| !decision.events.is_empty())
            .map(|(message, decision)| Observation {
                actor: Actor {
                    message,
                    ..acting.clone()
                },
                at: entry.at,
                decision,
            })
            .collect())
    }

    /// Returns the event that marks everything recorded since the last call as known, so that it is
    /// not recorded again.
    pub fn finish_batch(&mut self, session: &SessionRef) -> Option<Event> {
        let marks: Vec<Fingerprint> = std::mem::take(&mut self.marks).into_iter().collect();
        let recorded = std::mem::take(&mut self.recorded);
        (recorded || !marks.is_empty()).then(|| Event::EntriesIngested {
            session: session.clone(),
            marks,
        })
    }

    /// Derives the end of a past session: it is completed if its last turn ended, as far as the
    /// record says, and nothing is left open.
    pub fn finish<N: TreeQuery + ?Sized>(
        &mut self,
        tree: &N,
        actor: &Actor,
        draw: &mut dyn FnMut() -> FrameId,
    ) -> Result<Option<Observation>, DecideError<N::Error>> {
        let mut recorder = self.recorder(tree, &actor.session, actor, self.latest, draw)?;
        match recorder.settle() {
            Ok(()) => {}
            Err(DecideError::Refused(_)) => return Ok(None),
            Err(unreadable) => return Err(unreadable),
        }
        let mut decision = recorder.decider.into_decision();
        let closed = decision.events.iter().find_map(|event| match event {
            Event::FrameClosed { frame, .. } => Some(frame.to_string()),
            _ => None,
        });
        let Some(closed) = closed else {
            return Ok(None);
        };
        // Undo does not take back what was observed, and this was.
        self.marks
            .insert(Fingerprint::of(&actor.session, "ended", &closed));
        decision.events.extend(self.finish_batch(&actor.session));
        Ok(Some(Observation {
            actor: actor.clone(),
            at: self.latest,
            decision,
        }))
    }

    /// Logs raw text of a session, or of a subagent inside of it, in the frame where it happened.
    pub fn log<N: TreeQuery + ?Sized>(
        &mut self,
        tree: &N,
        actor: &Actor,
        text: &StoredText,
        draw: &mut dyn FnMut() -> FrameId,
    ) -> Result<Observation, DecideError<N::Error>> {
        let acting = Actor {
            session: text.thread.clone(),
            worktree: actor.worktree.clone(),
            message: text.message.clone(),
            by: Author::Agent,
        };
        let mut recorder = self.recorder(tree, &actor.session, &acting, text.at, draw)?;
        match recorder.here() {
            Ok(frame) => recorder.emit(Event::Logged {
                frame: frame.id,
                entry: text.entry.clone(),
            }),
            Err(DecideError::Refused(_)) => recorder.decider.events.clear(),
            Err(unreadable) => return Err(unreadable),
        }
        let decision = recorder.decider.into_decision();
        if !decision.events.is_empty() {
            self.recorded = true;
            self.marks.extend(&text.marks);
        }
        Ok(Observation {
            actor: acting,
            at: text.at,
            decision,
        })
    }

    /// Prepares to record what `acting.session` did: the session `host`, or a thread inside of it.
    fn recorder<'a, 't, N: TreeQuery + ?Sized>(
        &'a self,
        tree: &'t N,
        host: &SessionRef,
        acting: &'t Actor,
        at: Option<Timestamp>,
        draw: &'a mut dyn FnMut() -> FrameId,
    ) -> DecideResult<EntryRecorder<'a, 't, N>, N> {
        let session = &acting.session;
        let inside = session != host;
        let decider = Decider::new(tree, acting)?;
        let run = decider.session.run.as_ref();
        let parent = if inside {
            Some(host.clone())
        } else {
            let known = run.and_then(|run| run.parent.clone());
            self.parent.clone().or(known)
        };
        Ok(EntryRecorder {
            decider,
            live: self.live,
            at,
            framing: self.framing,
            track: self.track,
            begins_topic: false,
            ended_by: self.ended_by,
            parent,
            inside,
            host_title: self.titles.get(session).cloned(),
            said: self.said.get(session).cloned(),
            turn: self.turns.get(session).copied().unwrap_or_default(),
            opening: None,
            noticed: Vec::new(),
            recent: &self.marks,
            draw,
        })
    }

    /// Returns true if an entry belongs to a message that the session got from the one it was forked
    /// from.
    fn is_copied<N: TreeQuery + ?Sized>(
        &self,
        tree: &N,
        actor: &Actor,
        entry: &Entry,
    ) -> DecideResult<bool, N> {
        let Some(message) = entry.message.as_ref().filter(|_| self.live) else {
            return Ok(false);
        };
        Ok(tree.is_seen(Entry::copied_mark(&actor.session, message))?)
    }

    /// Follows the repetitions of a thread.
    fn watch(
        &mut self,
        thread: &SessionRef,
        entry: &Entry,
        mark: Option<Fingerprint>,
        call: Option<&Call>,
    ) {
        let is_first = |watched: &mut BTreeSet<_>| mark.is_none_or(|mark| watched.insert(mark));
        match (&entry.kind, call) {
            (EntryKind::Answer(answer), Some(call)) if is_first(&mut self.watched) => {
                let watch = self.stalls.entry(thread.clone()).or_default();
                watch_call(watch, thread, call, answer);
            }
            (EntryKind::User { speaker, text }, _)
                if spoken(*speaker, text).is_some() && is_first(&mut self.watched) =>
            {
                self.stalls.remove(thread);
            }
            _ => {}
        }
    }

    /// Remembers what later entries refer to, and returns the call that this entry answers.
    fn remember(&mut self, thread: &SessionRef, entry: &Entry) -> Option<Call> {
        match &entry.kind {
            EntryKind::Call(call) => {
                let turn = self.turns.entry(thread.clone()).or_default();
                turn.calls = TurnCalls::AfterWords;
                self.calls.insert(call.id.clone(), call.clone());
                None
            }
            EntryKind::Begun(_) => {
                let turn = self.turns.entry(thread.clone()).or_default();
                // The call itself follows with its answer.
                if turn.calls == TurnCalls::None {
                    turn.calls = TurnCalls::BeforeWords;
                }
                None
            }
            EntryKind::Answer(answer) => self.calls.remove(&answer.call),
            // Another turn begins, in which the model has said nothing yet.
            EntryKind::User { speaker, text } if spoken(*speaker, text).is_some() => {
                self.said.remove(thread);
                let begun = ObservedTurn {
                    is_begun: true,
                    ..ObservedTurn::default()
                };
                self.turns.insert(thread.clone(), begun);
                None
            }
            EntryKind::Assistant { text } if !text.trim().is_empty() => {
                self.said.insert(thread.clone(), text.clone());
                let turn = self.turns.entry(thread.clone()).or_default();
                if turn.calls == TurnCalls::AfterWords {
                    turn.calls = TurnCalls::BeforeWords;
                }
                None
            }
            EntryKind::TurnEnded => {
                self.turns.entry(thread.clone()).or_default().is_ended = true;
                None
            }
            EntryKind::Failed { why } => {
                self.said.insert(thread.clone(), ended_by_error(why));
                None
            }
            _ => None,
        }
    }
}

/// Returns true if the events of an entry depend on when it is observed. Such an entry is marked as
/// known even if no event followed from it.
fn depends_on_time(kind: &EntryKind, call: Option<&Call>) -> bool {
    match kind {
        EntryKind::User { speaker, .. } => matches!(speaker, Speaker::Person | Speaker::Slash),
        EntryKind::Answer(answer) => call.is_some_and(|call| {
            let changing = [CallKind::Edit, CallKind::Write, CallKind::Execute];
            !answer.ok || changing.contains(&call.kind)
        }),
        EntryKind::Assistant { .. }
        | EntryKind::Thinking { .. }
        | EntryKind::Call(_)
        | EntryKind::Attached { .. }
        | EntryKind::Plan { .. } => false,
        _ => true,
    }
}
