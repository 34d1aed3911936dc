//! Before and after a host summarises a session, and after a long pause.
//!
//! Before: where the session stands is recorded, and goes to the summariser. After: the summary goes
//! to the frames that wait for it, what it and the session's next header do not say is found, and
//! put behind the summary.
//! After a pause the conversation is whole, but the files of a workflow may have moved on without it.

mod completing;
mod timing;

use flamestack_core::brief::{Anchor, Brief, found_in};
use flamestack_core::command::{Actor, Command};
use flamestack_core::compaction::{
    Beside, Checkpoint, CompactionKind, Purpose, Restored, Verdict, instructions, resumption,
    says_nothing, with_restored, without_restored, word_for_word,
};
use flamestack_core::context::SMALLEST_TOTAL;
use flamestack_core::id::{FrameId, SessionRef};
use flamestack_core::session::Conversation;
use flamestack_core::text::Prose;

pub use timing::Fill;

use crate::Engine;
use crate::brief::{Asked, Workflows};
use crate::context::{Wanted, Whose};
use crate::error::EngineError;
use crate::request::Request;
use crate::views::grouped;

/// A brief that would get less than this is not worth its tags.
const LEAST: usize = 64;
/// What the tags around a brief take.
const TAGS: usize = 24;
/// No brief is made for less.
const SMALLEST: usize = 256;
/// The most of a model's window that is put behind a summary: one part in so many.
const WINDOW_PART: u64 = 20;
/// Where a prompt is fuller than this right after a compaction, only the smallest brief is added.
const FULL: (u64, u64) = (6, 10);

/// Whose summary a session goes on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Author {
    /// The host's, with what it lost behind it.
    Host,
    /// Ours, of at most so many tokens.
    Own(usize),
}

/// What a host is told before it summarises.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// For the summariser.
    pub instructions: Option<String>,
    /// For the person.
    pub notice: Option<String>,
}

/// What becomes of a summary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rewritten {
    /// The text in its place; none, if it stays as it is.
    pub text: Option<String>,
    /// For the person.
    pub notice: Option<String>,
}

impl Engine {
    /// Records where a session stands, and answers what its summariser is told besides the host's
    /// own instructions: nothing, if nothing is recorded that would help it.
    pub fn before_summary(
        &self,
        actor: &Actor,
        automatic: bool,
        asked: &Asked,
        workflows: &Workflows,
    ) -> Result<Told, EngineError> {
        let session = &actor.session;
        let brief = self.brief(asked, workflows)?;
        let (place, seen, waiting) = self.read(|reading| {
            let known = reading.session(session)?;
            let place = known.map(|known| known.active.or(known.own));
            Ok((
                place,
                reading.conversation(session)?,
                reading.awaiting(session)?,
            ))
        })?;
        // Of a session that nothing was seen of, there is nothing to keep.
        let Some(frame) = place else {
            return Ok(Told::default());
        };
        let awaited = waiting.into_iter().next();
        let kind = match &awaited {
            Some((_, awaiting)) if awaiting.outcome.is_some() => CompactionKind::Completion,
            None if automatic => CompactionKind::Overflow,
            _ => CompactionKind::Manual,
        };
        let checkpoint = Checkpoint {
            kind,
            frame: awaited.as_ref().map(|(id, _)| id.clone()).or(frame),
            tokens: Some(seen.size).filter(|size| *size > 0),
            anchors: brief.anchors.clone(),
        };
        let command = Command::Checkpoint(Box::new(checkpoint));
        self.execute(actor, &Request::Ready(command))?;
        if automatic && seen.streak.would_loop() {
            return Ok(Told {
                instructions: None,
                notice: Some(self.floor(session, &seen)?),
            });
        }
        let state = if brief.has_something_to_tell() {
            brief.text.as_str()
        } else {
            ""
        };
        let told = match awaited {
            None => instructions(Purpose::Continue, state),
            Some((id, awaiting)) => {
                let frame = self.read(|reading| Ok(reading.whole_frame(&id)?))?;
                let title = frame
                    .as_ref()
                    .map_or(id.as_str(), |frame| frame.title.as_str());
                let criteria = frame.as_ref().and_then(|frame| frame.criteria.as_ref());
                let purpose = match awaiting.outcome {
                    Some(outcome) => Purpose::Complete {
                        title,
                        criteria: criteria.map(Prose::as_str),
                        outcome,
                    },
                    None => Purpose::Checkpoint {
                        note: awaiting.note.as_ref().map(Prose::as_str),
                    },
                };
                instructions(purpose, state)
            }
        };
        Ok(Told {
            instructions: Some(told).filter(|told| !told.is_empty()),
            notice: None,
        })
    }

    /// A summary is there. The frames that wait for it get it, what became of the checkpoint is
    /// recorded, and what was lost is put behind the summary: at most `asked.budget` tokens.
    pub fn after_summary(
        &self,
        actor: &Actor,
        summary: &str,
        author: Author,
        asked: &Asked,
        workflows: &Workflows,
    ) -> Result<Rewritten, EngineError> {
        let session = &actor.session;
        let plain = without_restored(summary);
        let silent = says_nothing(&plain);
        let (known, seen, checkpoint) = self.read(|reading| {
            let last = reading.last_compaction(session)?;
            Ok((
                reading.session(session)?,
                reading.conversation(session)?,
                last.filter(|last| last.ended.is_none()),
            ))
        })?;
        let Some(known) = known else {
            return Ok(Rewritten {
                text: (plain != summary).then_some(plain),
                notice: None,
            });
        };
        // Before anything else: who waits for it must not wait for what may yet go wrong.
        let usable = author == Author::Host && !silent;
        self.give_summary(actor, usable.then_some(plain.as_str()))?;

        let loops = checkpoint
            .as_ref()
            .is_some_and(|last| last.kind == Some(CompactionKind::Overflow))
            && seen.streak.would_loop();
        let asked = Asked {
            budget: self.room(session, asked.budget, author, loops)?,
            ..asked.clone()
        };
        let sources = self.brief_sources(&asked, workflows)?;
        let brief = self.composed(&sources, workflows, asked.budget)?;
        let kept = if author == Author::Host && !silent {
            plain.as_str()
        } else {
            ""
        };
        let header = self.context(&Whose::Session(session.clone()), &Wanted::default())?;
        let header = header
            .map(|context| context.text.clone())
            .unwrap_or_default();
        let told = format!("{kept}\n{header}");
        // What was to survive; a frame that has ended meanwhile is no longer among it.
        let anchors = match checkpoint {
            Some(last) if last.kind != Some(CompactionKind::Completion) => last.anchors,
            _ => brief.anchors.clone(),
        };
        let (survived, lost) = found_in(anchors, &told);

        let text = match author {
            Author::Host if loops => String::new(),
            Author::Host => {
                let whole = |budget| self.composed(&sources, workflows, budget);
                self.missing(session, &brief, &lost, &told, asked.budget, &whole)?
            }
            // The header may be cut; this is all there is besides.
            Author::Own(_) => {
                let whole = |budget| self.composed(&sources, workflows, budget);
                self.missing(session, &brief, &brief.anchors, "", asked.budget, &whole)?
            }
        };
        let verdict = Verdict {
            summary: Prose::new(&plain).ok().filter(|_| author == Author::Host),
            said_nothing: silent,
            survived,
            lost,
            restored: self.counting(|tokenizer| tokenizer.count(&text)) as u64,
        };
        let lost = verdict.lost.clone();
        let command = Command::Summarise(Box::new(verdict));
        self.execute(actor, &Request::Ready(command))?;
        let notice = match (loops, author) {
            (true, _) => Some(self.floor(session, &seen)?),
            (false, Author::Host) if silent => Some(
                "The host's summary said nothing; the recorded state of the work stands in its \
                 place."
                    .to_owned(),
            ),
            _ => None,
        };
        if text.trim().is_empty() {
            return Ok(Rewritten {
                text: (plain != summary).then_some(plain),
                notice,
            });
        }
        tracing::info!(session = %session, lost = lost.len(), "Compaction: what the summary lost is restored");
        let restored = Restored {
            count: seen.compactions + 1,
            beside: match author {
                Author::Own(_) => Beside::Nothing,
                Author::Host if silent => Beside::Silence,
                Author::Host => Beside::Summary,
            },
            lost: &lost,
            log: known.own.as_ref().map(FrameId::as_str),
            text: &text,
        };
        Ok(Rewritten {
            text: Some(with_restored(kept, &restored)),
            notice,
        })
    }

    /// Where a workflow stands, for a session that is taken up again after a pause; nothing, if none
    /// is going on. At most `asked.budget` tokens, tags included.
    pub fn after_pause(
        &self,
        asked: &Asked,
        workflows: &Workflows,
    ) -> Result<Option<String>, EngineError> {
        let asked = Asked {
            budget: asked.budget.saturating_sub(TAGS).max(SMALLEST_TOTAL),
            ..asked.clone()
        };
        let brief = self.brief(&asked, workflows)?;
        Ok(brief.standing.is_some().then(|| resumption(&brief.text)))
    }

    /// What neither the summary nor the header says: the brief where it has anchors that were lost,
    /// those of them word for word that it does not show so, then what else of the conversation is
    /// likely to be needed.
    fn missing(
        &self,
        session: &SessionRef,
        brief: &Brief,
        lost: &[Anchor],
        seen: &str,
        budget: usize,
        whole: &dyn Fn(usize) -> Result<Brief, EngineError>,
    ) -> Result<String, EngineError> {
        let mut text = String::new();
        if !lost.is_empty() {
            let told = format!("{seen}\n{}", brief.text);
            let words =
                self.counting(|tokenizer| word_for_word(lost, &told, budget / 2, tokenizer));
            let used = self.counting(|tokenizer| tokenizer.count(&words));
            if words.is_empty() {
                text.clone_from(&brief.text);
            } else if budget.saturating_sub(used) >= SMALLEST {
                text = format!("{}\n{words}", whole(budget - used - 1)?.text.trim_end());
            } else {
                text = words;
            }
        }
        let used = self.counting(|tokenizer| tokenizer.count(&text));
        let left = budget.saturating_sub(used);
        if left >= LEAST {
            let already = format!("{seen}\n{text}");
            if let Some(rest) = self.resume_brief(session, left, &already)? {
                if !text.is_empty() {
                    text.push_str("\n\n");
                }
                text.push_str(&rest);
            }
        }
        Ok(text)
    }

    /// How many tokens may be added: less where the window is small, and the least where the
    /// prompt is nearly full even after a compaction.
    fn room(
        &self,
        session: &SessionRef,
        budget: usize,
        author: Author,
        loops: bool,
    ) -> Result<usize, EngineError> {
        let (window, after) = self.read(|reading| {
            let model = reading.model(session)?;
            let recent = reading.compactions(session, 2)?;
            let after = recent.iter().rev().find_map(|last| last.after);
            Ok((model.and_then(|model| model.window), after))
        })?;
        let wanted = match author {
            Author::Host => budget,
            Author::Own(most) => most,
        };
        let Some(window) = window else {
            return Ok(wanted);
        };
        let (part, of) = FULL;
        let full =
            after.is_some_and(|after| after.saturating_mul(of) > window.saturating_mul(part));
        let most = if full || loops {
            SMALLEST
        } else {
            usize::try_from(window / WINDOW_PART).unwrap_or(usize::MAX)
        };
        Ok(wanted.min(most).max(SMALLEST))
    }

    /// What to tell a person whose session is compacted again and again.
    fn floor(&self, session: &SessionRef, seen: &Conversation) -> Result<String, EngineError> {
        let (window, floor) = self.read(|reading| {
            let model = reading.model(session)?;
            let recent = reading.compactions(session, 4)?;
            let floor = recent.iter().filter_map(|last| last.after).min();
            Ok((model.and_then(|model| model.window), floor))
        })?;
        let floor = match (floor, window) {
            (Some(floor), Some(window)) => format!(
                "right after a compaction the prompt still has {} of {} usable tokens",
                grouped(floor),
                grouped(window)
            ),
            (Some(floor), None) => format!(
                "right after a compaction the prompt still has {} tokens",
                grouped(floor)
            ),
            (None, _) => format!(
                "the prompt had {} tokens when it was last sent",
                grouped(seen.size)
            ),
        };
        Ok(format!(
            "{} compactions in a row made no room: {floor}, which is what system prompt, tools and \
             the newest messages come to. Flamestack adds nothing until a turn succeeds. A model \
             with a larger window, fewer tools or shorter instructions help.",
            seen.streak.compactions + 1
        ))
    }
}
