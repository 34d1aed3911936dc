//! What is seen of sessions, live or in a record: facts go into the journal, raw text beside it.
//!
//! What an entry means is `flamestack_core`'s to say. Here is what has to be remembered from one
//! call to the next: calls that are not answered yet, and raw text that is kept a turn at a time.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

use flamestack_core::command::{Actor, Command, Fork};
use flamestack_core::decide::{Kept, Rejected, Sight, Watching};
use flamestack_core::event::{Event, Recorded};
use flamestack_core::frame::LogEntry;
use flamestack_core::id::{Mark, SessionRef, Timestamp};
use flamestack_core::subagent::Framing;
use flamestack_core::text::Title;
use flamestack_core::transcript::{Entry, What};
use flamestack_store::{NextStep, Step, Store, transcript};

use crate::error::EngineError;
use crate::{Engine, Request};

/// Raw text of a session is kept in pieces of about this many bytes, or a turn at a time.
const PIECE: usize = 256 * 1024;
/// How many frames a session that is a copy of another one gets from it.
const MOST_COPIES: usize = 200;

/// The sessions that an engine watches.
pub(crate) type Watches = BTreeMap<SessionRef, Watch>;

/// A session that an engine watches.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watch {
    watching: Watching,
    /// Raw text that is not kept yet, by thread.
    pending: BTreeMap<SessionRef, Pending>,
}

/// Raw text that is not kept yet.
#[derive(Clone, Debug, Default)]
struct Pending {
    text: String,
    marks: Vec<Mark>,
    message: Option<String>,
    at: Option<Timestamp>,
}

impl Watch {
    /// The raw text of a thread, complete as it is now.
    fn complete(&mut self, thread: &SessionRef) -> Option<Deed<'static>> {
        let pending = self.pending.remove(thread)?;
        Some(Deed::Keep(thread.clone(), Box::new(pending)))
    }
}

/// How a session is looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// It is over: the entries are read from a record, and the session works on nothing.
    pub past: bool,
    /// The session that it is part of, where that is known.
    pub parent: Option<SessionRef>,
    /// The host does not say which session started which: subagents are known by their titles.
    pub without_ids: bool,
    /// Every subagent that ends here keeps its frame, however short it was.
    pub keeps_frames: bool,
}

/// One thing to do, in order.
enum Deed<'e> {
    See(Box<Cow<'e, Entry>>),
    Keep(SessionRef, Box<Pending>),
}

impl Engine {
    /// Records what was seen of a session that goes on right now.
    ///
    /// The same entry may come any number of times. An answer is understood if its call came
    /// before, in this or an earlier call of this engine, and a turn's end if the model's last
    /// words did; who starts afresh sends those again.
    pub fn witness(&self, actor: &Actor, entries: &[Entry]) -> Result<Vec<Recorded>, EngineError> {
        self.witness_as(actor, &View::default(), entries)
    }

    /// Records what was seen of a session.
    pub fn witness_as(
        &self,
        actor: &Actor,
        view: &View,
        entries: &[Entry],
    ) -> Result<Vec<Recorded>, EngineError> {
        let _alone = self.witness_alone();
        let mut watch = self.take_watch(&actor.session, view);
        let mut deeds = self.plan(actor, &mut watch, entries)?;
        if view.without_ids && view.parent.is_none() {
            deeds.extend(self.told_by_title(actor, entries));
        }
        let mut recorded = self.carry_out(actor, &mut watch.watching, deeds)?;
        self.watches().insert(actor.session.clone(), watch);
        recorded.extend(self.sum_up(actor, &recorded)?);
        Ok(recorded)
    }

    /// A title that says that its session is a subagent's.
    fn told_by_title(&self, actor: &Actor, entries: &[Entry]) -> Option<Deed<'static>> {
        let tracking = self.tracking();
        let titles = entries.iter().filter_map(|entry| match &entry.what {
            What::Titled { title } => Some(title),
            _ => None,
        });
        let title = titles.rev().find(|title| tracking.patterns.fit(title))?;
        let id = actor.session.id().to_owned();
        Some(Deed::See(Box::new(Cow::Owned(Entry {
            id: Some(format!("by title {id}")),
            message: None,
            at: None,
            agent: None,
            what: What::SubagentStarted {
                id,
                call: None,
                kind: None,
                title: title.clone(),
                prompt: String::new(),
            },
        }))))
    }

    /// Keeps the raw text of a session that is still waiting for its turn to end.
    pub fn keep_pending(&self, actor: &Actor) -> Result<Vec<Recorded>, EngineError> {
        let _alone = self.witness_alone();
        let known = self.watches().get(&actor.session).cloned();
        let Some(mut watch) = known.filter(|watch| !watch.pending.is_empty()) else {
            return Ok(Vec::new());
        };
        let mut deeds = Vec::new();
        for (thread, text) in std::mem::take(&mut watch.pending) {
            deeds.push(Deed::Keep(thread, Box::new(text)));
        }
        let recorded = self.carry_out(actor, &mut watch.watching, deeds)?;
        self.watches().insert(actor.session.clone(), watch);
        Ok(recorded)
    }

    /// The raw text of a session that waits for its turn to end.
    pub(crate) fn waiting_text(&self, session: &SessionRef) -> String {
        let watches = self.watches();
        let watch = watches
            .values()
            .find_map(|watch| watch.pending.get(session));
        watch
            .map(|pending| pending.text.clone())
            .unwrap_or_default()
    }

    /// The record of a past session ends here: keeps what is left of its raw text, completes its
    /// frame if nothing is left open, and forgets it.
    pub fn settle(&self, actor: &Actor) -> Result<Vec<Recorded>, EngineError> {
        let mut recorded = self.keep_pending(actor)?;
        let Some(mut watch) = self.watches().remove(&actor.session) else {
            return Ok(recorded);
        };
        let mut asked = false;
        let clock = self.clock();
        recorded.extend(self.commit_steps(&mut |reading| {
            if std::mem::replace(&mut asked, true) {
                return Ok(None);
            }
            let mut draw = || clock.draw_id();
            let sight = watch.watching.ended(reading, actor, &mut draw)?;
            Ok(sight.map(|sight| step(sight, clock.now())))
        })?);
        recorded.extend(self.sum_up(actor, &recorded)?);
        Ok(recorded)
    }

    /// The host wound a session back to before a message, or forward again where there is none.
    ///
    /// `messages` begins with that message and names those behind it, as far as they are known;
    /// `earlier` names those in front of it.
    pub fn wind(
        &self,
        actor: &Actor,
        messages: &[String],
        earlier: &[String],
    ) -> Result<Vec<Recorded>, EngineError> {
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
        // Further back, or not so far: from where everything counts.
        if pending.is_some() {
            let forward = Request::Ready(Command::Unrevert);
            recorded.extend(self.execute(actor, &forward)?.events);
        }
        if !messages.is_empty() {
            let (messages, earlier) = (messages.to_vec(), earlier.to_vec());
            let back = Request::Ready(Command::Revert { messages, earlier });
            recorded.extend(self.execute(actor, &back)?.events);
        }
        if let Some(watch) = self.watches().get_mut(&actor.session) {
            watch.watching.was_wound(&actor.session);
        }
        Ok(recorded)
    }

    /// The host made a session as a copy of another one: it goes on with what was open there, and
    /// knows what was finished. `messages` pairs the other's messages with those of the copy, and
    /// `later` names the other's messages that the copy does not have.
    pub fn fork(
        &self,
        actor: &Actor,
        from: &SessionRef,
        messages: Vec<(String, String)>,
        later: Vec<String>,
    ) -> Result<Vec<Recorded>, EngineError> {
        let ids = (0..MOST_COPIES).map(|_| self.clock().draw_id());
        let fork = Fork {
            from: from.clone(),
            messages,
            later,
            ids: ids.collect(),
        };
        let fork = Request::Ready(Command::Fork(Box::new(fork)));
        Ok(self.execute(actor, &fork)?.events)
    }

    fn take_watch(&self, session: &SessionRef, view: &View) -> Watch {
        // A copy: should the store not take what was seen, it is as if it had not been seen.
        let known = self.watches().get(session).cloned();
        let mut watch = known.unwrap_or_else(|| Watch {
            watching: if view.past {
                Watching::past(None)
            } else {
                Watching::live(None)
            },
            pending: BTreeMap::new(),
        });
        watch.watching.is_part_of(view.parent.clone());
        // Of a past session nothing is going to be asked again: all of it is kept.
        if !view.past {
            let framing = self.tracking().framing;
            watch.watching.frames(if view.keeps_frames {
                Framing {
                    enabled: framing.enabled,
                    ..Framing::ALL
                }
            } else {
                framing
            });
        }
        watch
    }

    /// What to do about entries: look at each, and keep raw text where a piece of it is complete.
    fn plan<'e>(
        &self,
        actor: &Actor,
        watch: &mut Watch,
        entries: &'e [Entry],
    ) -> Result<Vec<Deed<'e>>, EngineError> {
        let known = self.known_texts(actor, entries)?;
        let mut deeds = Vec::new();
        for (entry, known) in entries.iter().zip(known) {
            let thread = entry.agent.as_deref();
            let thread = thread.and_then(|agent| actor.session.beside(agent));
            let thread = thread.unwrap_or_else(|| actor.session.clone());
            // A prompt begins a turn; what came before it belongs to the one before.
            if entry.is_prompt() && !known {
                deeds.extend(watch.complete(&thread));
            }
            let ended = match &entry.what {
                What::SubagentEnded { id, .. } => actor.session.beside(id),
                What::TurnEnded | What::Interrupted { .. } | What::Compacted { .. } => {
                    Some(thread.clone())
                }
                _ => None,
            };
            if !known {
                let pending = watch.pending.entry(thread.clone()).or_default();
                if pending.text.is_empty() {
                    pending.message.clone_from(&entry.message);
                    pending.at = entry.at;
                }
                pending.text.push_str(&transcript::encode(entry));
                pending.marks.extend(entry.text_mark(&actor.session));
            }
            deeds.push(Deed::See(Box::new(within(&self.project().root, entry))));
            let full = watch.pending.get(&thread);
            if full.is_some_and(|pending| pending.text.len() >= PIECE) {
                deeds.extend(watch.complete(&thread));
            }
            if let Some(ended) = ended.filter(|_| !known) {
                deeds.extend(watch.complete(&ended));
            }
        }
        Ok(deeds)
    }

    /// Of which entries the raw text is in the store, or waits to be, already.
    fn known_texts(&self, actor: &Actor, entries: &[Entry]) -> Result<Vec<bool>, EngineError> {
        let waiting: std::collections::BTreeSet<Mark> = {
            let watches = self.watches();
            let watch = watches.get(&actor.session);
            let pending = watch.into_iter().flat_map(|watch| watch.pending.values());
            pending
                .flat_map(|text| text.marks.iter().copied())
                .collect()
        };
        let mut here = waiting;
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

    /// Puts raw text into the store, all of it at once: the disk is asked once.
    fn keep_pieces(&self, deeds: &[Deed<'_>]) -> Result<VecDeque<Kept>, EngineError> {
        let pieces = || {
            deeds.iter().filter_map(|deed| match deed {
                Deed::See(_) => None,
                Deed::Keep(thread, pending) => Some((thread, pending)),
            })
        };
        let texts: Vec<&str> = pieces().map(|(_, pending)| pending.text.as_str()).collect();
        let kept = self.keep_texts(&texts)?;
        let pieces = pieces().zip(kept).map(|((thread, pending), kept)| Kept {
            thread: thread.clone(),
            message: pending.message.clone(),
            at: pending.at,
            entry: LogEntry {
                label: Title::recorded(transcript::LABEL.to_owned()),
                blob: kept.id,
                bytes: kept.bytes,
            },
            marks: pending.marks.clone(),
        });
        Ok(pieces.collect())
    }

    /// Does what is to be done as one command, each thing on the state that the ones before led to.
    fn carry_out(
        &self,
        actor: &Actor,
        watching: &mut Watching,
        deeds: Vec<Deed<'_>>,
    ) -> Result<Vec<Recorded>, EngineError> {
        if deeds.is_empty() {
            return Ok(Vec::new());
        }
        let mut kept = self.keep_pieces(&deeds)?;
        let clock = self.clock();
        let now = clock.now();
        let mut deeds = deeds.into_iter();
        let mut waiting: VecDeque<Sight> = VecDeque::new();
        let mut done = false;
        let mut draw = || clock.draw_id();
        self.commit_steps(&mut |reading| {
            loop {
                if let Some(sight) = waiting.pop_front() {
                    return Ok(Some(step(sight, now)));
                }
                match deeds.next() {
                    Some(Deed::See(entry)) => {
                        waiting.extend(watching.see(reading, actor, &entry, &mut draw)?);
                    }
                    Some(Deed::Keep(..)) => {
                        let Some(text) = kept.pop_front() else {
                            continue;
                        };
                        let sight = watching.keep(reading, actor, &text, &mut draw)?;
                        waiting.extend((!sight.decision.events.is_empty()).then_some(sight));
                    }
                    None if done => return Ok(None),
                    None => {
                        done = true;
                        let told = watching.told(&actor.session);
                        return Ok(told.map(|event| Step {
                            at: now,
                            actor: actor.clone(),
                            events: vec![event],
                        }));
                    }
                }
            }
        })
    }

    pub(crate) fn commit_steps(
        &self,
        next: &mut NextStep<'_>,
    ) -> Result<Vec<Recorded>, EngineError> {
        self.with_store(|store| {
            store.commit_steps(next).map_err(|rejected| match rejected {
                Rejected::Refused(refusal) => EngineError::Refused(refusal),
                Rejected::Unreadable(error) => EngineError::Store(error),
            })
        })
    }
}

fn step(sight: Sight, now: Timestamp) -> Step {
    Step {
        at: sight.at.unwrap_or(now),
        actor: sight.actor,
        events: sight.decision.events,
    }
}

/// The same entry with files named relative to the project where they lie inside it.
fn within<'e>(root: &Path, entry: &'e Entry) -> Cow<'e, Entry> {
    let relative = |path: &String| {
        let inside = Path::new(path).strip_prefix(root).ok()?;
        Some(inside.to_string_lossy().into_owned()).filter(|inside| !inside.is_empty())
    };
    let paths = match &entry.what {
        What::Call(call) => &call.paths,
        What::Changed { paths } => paths,
        _ => return Cow::Borrowed(entry),
    };
    if !paths.iter().any(|path| relative(path).is_some()) {
        return Cow::Borrowed(entry);
    }
    let mut entry = entry.clone();
    if let What::Call(flamestack_core::transcript::Call { paths, .. }) | What::Changed { paths } =
        &mut entry.what
    {
        for path in paths {
            if let Some(inside) = relative(path) {
                *path = inside;
            }
        }
    }
    Cow::Owned(entry)
}
