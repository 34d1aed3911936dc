//! The state of the sessions that an engine ingests: tool calls without an answer, raw text of a turn that has
//! not ended, and the signals for suggestions.

use std::collections::BTreeMap;

use flamestack_core::autonomy::Boundary;
use flamestack_core::id::{Fingerprint, Timestamp};
use flamestack_core::subagent::Framing;
use flamestack_core::{Actor, Author, FrameId, Recorded, SessionRef};

use super::observer::Observer;
use super::topics::Track;
use super::{IngestMode, IngestOptions, IngestStep};
use crate::Engine;
use crate::autonomy::SignalReader;
use crate::autonomy::aftermath::Followed;
use crate::autonomy::heuristics::WorkSignals;
use crate::error::Result;
use crate::subagents::Tracking;

/// Maximum number of sessions whose state is kept; more than a sidecar serves.
const MAX_SESSIONS: usize = 512;

/// The sessions that an engine ingests.
pub(crate) type Ingests = BTreeMap<SessionRef, Ingest>;

/// State of one session between calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ingest {
    pub(super) observer: Observer,
    /// Raw text that is not stored yet, by thread.
    pub(super) pending: BTreeMap<SessionRef, PendingText>,
    /// Signals for suggestions.
    pub(super) signals: SignalReader,
    /// The aftermath of the last suggestion.
    followed: Option<Followed>,
    /// Orders sessions by their last use.
    pub(super) last_used: u64,
}

/// Raw text that is not stored yet.
#[derive(Clone, Debug, Default)]
pub(super) struct PendingText {
    pub(super) text: String,
    /// Fingerprints of its entries.
    pub(super) marks: Vec<Fingerprint>,
    /// Message and time of its first entry.
    pub(super) message: Option<String>,
    pub(super) at: Option<Timestamp>,
}

impl Ingest {
    /// Takes the raw text of a thread, complete as it is now.
    pub(super) fn take_text(&mut self, thread: &SessionRef) -> Option<IngestStep<'static>> {
        let pending = self.pending.remove(thread)?;
        Some(IngestStep::Log(thread.clone(), Box::new(pending)))
    }
}

impl Engine {
    /// Returns the state of a session, with the options of this call.
    pub(super) fn ingest_of(&self, session: &SessionRef, options: &IngestOptions) -> Ingest {
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

    /// Forgets the sessions that were idle for longest, if there are too many. Their raw text is
    /// stored; the rest can be had again from the host.
    pub(super) fn forget_idle_sessions(&self) {
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
}
