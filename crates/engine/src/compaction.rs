//! Compactions: texts before and after a host summarises a session, and after a long pause.
//! `docs/architecture.md`, "Texts for a session that continues", compares this module with its relatives.
//!
//! Before, the state of the session is recorded and passed to the summariser. After, the pipeline
//! is plan, commit, render: all sources are read once, `recovery` decides what the summary lost
//! and what of it to restore, the report is recorded, and the text for the host is rendered. After
//! a pause the session is complete, but the files of a workflow may have changed without it.

mod fill;
mod recovery;
mod waiting;

use flamestack_brief::compaction::{
    SummaryPurpose, claims, instructions, resumption, says_nothing, without_restored,
};
use flamestack_brief::workflow::Workflows;
use flamestack_context::SMALLEST_TOTAL;
use flamestack_core::compaction::{Checkpoint, Compaction, CompactionKind};
use flamestack_core::frame::Awaiting;
use flamestack_core::{Actor, Command, FrameId, SessionRef, Text};
use flamestack_extract::state::WorkState;

pub use fill::Fill;

use self::recovery::{CompactedSession, CompactionSources};
use crate::Engine;
use crate::brief::BriefRequest;
use crate::context::{ContextOptions, ContextTarget};
use crate::error::Result;

/// Tokens of the tags around a brief.
const TAGS: usize = 24;
/// Number of compactions that are read to judge whether they make room.
const RECENT: usize = 4;

/// The author of the summary that a session continues with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SummaryAuthor {
    /// The host; what its summary lost is appended to it.
    Host,
    /// Flamestack, with at most this number of tokens.
    Own(usize),
}

/// Texts for a host that compacts a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompactionReply {
    /// For the summariser: additional instructions before, a replacement of its summary after.
    pub text: Option<String>,
    /// For the user.
    pub notice: Option<String>,
}

/// Accompanies compactions.
#[derive(Clone, Copy)]
pub struct Compactions<'e> {
    pub(crate) engine: &'e Engine,
}

impl Compactions<'_> {
    /// Records the state of a session, and returns what its summariser receives in addition to the
    /// host's own instructions.
    pub fn before_summary(
        &self,
        actor: &Actor,
        automatic: bool,
        request: &BriefRequest,
        workflows: &Workflows,
    ) -> Result<CompactionReply> {
        let session = &actor.session;
        let brief = self.engine.brief(request, workflows)?;
        let state = self.compacted_session(session)?;
        let Some(state) = state else {
            return Ok(CompactionReply::default());
        };
        let awaited = self.awaiting(session)?.into_iter().next();
        let kind = match &awaited {
            Some((_, awaiting)) if awaiting.outcome.is_some() => CompactionKind::Completion,
            None if automatic => CompactionKind::Overflow,
            _ => CompactionKind::Manual,
        };
        let checkpoint = Checkpoint {
            kind,
            frame: awaited
                .as_ref()
                .map(|(id, _)| *id)
                .or(state.session.frame()),
            tokens: Some(state.session.activity.size).filter(|size| *size > 0),
            anchors: brief.anchors.clone(),
        };
        let command = Command::Checkpoint(Box::new(checkpoint));
        self.engine.commands().run(actor, &command)?;
        if automatic && state.session.activity.compaction_loop.would_loop() {
            return Ok(CompactionReply {
                text: None,
                notice: Some(state.no_room()),
            });
        }
        let text = Some(brief.text.as_str()).filter(|_| brief.says_more_than_git());
        let instructions = self.instructions(awaited, text.unwrap_or_default())?;
        Ok(CompactionReply {
            text: Some(instructions).filter(|text| !text.is_empty()),
            notice: None,
        })
    }

    fn instructions(&self, awaited: Option<(FrameId, Awaiting)>, state: &str) -> Result<String> {
        let Some((id, awaiting)) = awaited else {
            return Ok(instructions(SummaryPurpose::Continue, state));
        };
        let frame = self.engine.read(|reading| Ok(reading.whole_frame(&id)?))?;
        let frame = frame.as_ref();
        let criteria = frame.and_then(|frame| frame.criteria.as_ref());
        let purpose = match awaiting.outcome {
            Some(outcome) => SummaryPurpose::Complete {
                title: frame.map_or(id.as_str(), |frame| frame.title.as_str()),
                criteria: criteria.map(Text::as_str),
                outcome,
            },
            None => SummaryPurpose::Checkpoint {
                note: awaiting.note.as_ref().map(Text::as_str),
            },
        };
        Ok(instructions(purpose, state))
    }

    /// Takes a summary: passes it to the frames that wait for it, records which anchors survived,
    /// and returns the summary with at most `request.budget` tokens of what it lost.
    pub fn after_summary(
        &self,
        actor: &Actor,
        summary: &str,
        author: SummaryAuthor,
        request: &BriefRequest,
        workflows: &Workflows,
    ) -> Result<CompactionReply> {
        let plain = without_restored(summary);
        let Some(state) = self.compacted_session(&actor.session)? else {
            return Ok(CompactionReply {
                text: (plain != summary).then_some(plain),
                notice: None,
            });
        };
        // Claims and anchors are cut from it.
        let plain = self.engine.redactor().redact_owned(plain);
        // First, so that a failure of what follows does not keep frames waiting.
        let usable = author == SummaryAuthor::Host && !says_nothing(&plain);
        self.end_waits(actor, usable.then_some(plain.as_str()), |_| true)?;

        let sources = self.sources(plain, author, state, request, workflows)?;
        let recovery = self.engine.counting(|tokenizer| sources.plan(tokenizer));
        let recorded = recovery.report.summary.as_ref();
        let command = Command::Summarise {
            claims: recorded
                .map(|text| claims(text.as_str()))
                .unwrap_or_default(),
            report: Box::new(recovery.report.clone()),
        };
        self.engine.commands().run(actor, &command)?;
        Ok(sources.render(&recovery, summary))
    }

    fn sources<'a>(
        &self,
        plain: String,
        author: SummaryAuthor,
        state: CompactedSession,
        request: &BriefRequest,
        workflows: &'a Workflows,
    ) -> Result<CompactionSources<'a>> {
        let session = &state.session.key;
        let target = ContextTarget::Session(session.clone());
        let header = self
            .engine
            .contexts()
            .context(&target, &ContextOptions::default())?;
        let own = match &state.session.own {
            Some(own) => self.engine.read(|reading| Ok(reading.whole_frame(own)?))?,
            None => None,
        };
        let record = self.engine.summaries().record(session)?;
        let mut brief = self.engine.brief_sources(request, workflows)?;
        brief.state = (!record.entries.is_empty()).then(|| WorkState::read(&record.entries));
        Ok(CompactionSources {
            budget: state.recovery_budget(request.budget, author),
            is_silent: says_nothing(&plain),
            plain,
            author,
            brief,
            workflows: &workflows.declared,
            header: header
                .map(|context| context.text.clone())
                .unwrap_or_default(),
            transcript: record.without_folded_output(),
            own,
            state,
        })
    }

    /// Reads what is recorded of a session; `None` if nothing is.
    fn compacted_session(&self, session: &SessionRef) -> Result<Option<CompactedSession>> {
        self.engine.read(|reading| {
            let Some(known) = reading.session(session)? else {
                return Ok(None);
            };
            let checkpoint = reading.last_compaction(session)?;
            Ok(Some(CompactedSession {
                session: known,
                checkpoint: checkpoint.filter(Compaction::is_pending),
                recent: reading.compactions(session, RECENT)?,
            }))
        })
    }

    /// Returns the state of a workflow for a session that is resumed after a pause, in at most
    /// `request.budget` tokens; `None` if no workflow is in progress.
    pub fn after_pause(
        &self,
        request: &BriefRequest,
        workflows: &Workflows,
    ) -> Result<Option<String>> {
        let request = BriefRequest {
            budget: request.budget.saturating_sub(TAGS).max(SMALLEST_TOTAL),
            ..request.clone()
        };
        let brief = self.engine.brief(&request, workflows)?;
        Ok(brief.workflow.is_some().then(|| resumption(&brief.text)))
    }
}
