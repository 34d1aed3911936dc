//! Import of recorded sessions of agent programs.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;

use flamestack_core::Author;
use flamestack_core::SessionRef;
use flamestack_core::command::Actor;
use flamestack_core::event::{Event, Recorded};
use flamestack_core::transcript::{Entry, EntryKind};
use flamestack_engine::views::counted;
use flamestack_engine::{EngineError, IngestMode, IngestOptions};
use flamestack_hosts::recordings::{
    ReadReport, RecordedSession, RecordingFile, RecordingFormat, TranscriptItem, read,
};
use serde_json::json;

use crate::command_context::CommandContext;
use crate::failure::Failure;
use crate::output::{Output, Progress};

/// Limits of one batch: large enough to commit rarely, small enough to keep memory flat.
const RUN_BYTES: usize = 4 * 1024 * 1024;
const RUN_ENTRIES: usize = 4000;

/// Imports the sessions of some files.
pub(super) fn run(
    ctx: &CommandContext,
    output: &mut Output,
    sources: &[RecordingFile],
    only_here: bool,
) -> Result<(), Failure> {
    let sizes: Vec<u64> = sources.iter().map(|source| size(&source.path)).collect();
    let total = sizes.iter().sum();
    let progress = Progress::new("importing");
    let mut intake = Intake::new(ctx, only_here);
    let mut report = ReadReport::default();
    let mut unread = Vec::new();
    let mut finished = 0;
    for (source, size) in sources.iter().zip(sizes) {
        let found = read(source, &mut |item, position| {
            progress.at(finished + position.min(size), total);
            intake.take(item)
        });
        match found {
            Ok(found) => report.add(found),
            // An unreadable file does not stop the others.
            Err(error) => unread.push(format!("{}: {error}", source.path.display())),
        }
        if let Some(error) = intake.failed.take() {
            return Err(error.into());
        }
        finished += size;
    }
    drop(progress);
    print_summary(output, sources, &intake.imported, &report, &unread)
}

fn size(path: &Path) -> u64 {
    fs_err::metadata(path).map_or(0, |metadata| metadata.len())
}

/// Receives the items of a reader and passes them to the engine in batches.
struct Intake<'p> {
    ctx: &'p CommandContext,
    only_here: bool,
    current: Option<(Actor, IngestOptions)>,
    run: Vec<Entry>,
    bytes: usize,
    imported: Imported,
    failed: Option<EngineError>,
}

/// The counts of an import.
#[derive(Default)]
struct Imported {
    sessions: BTreeSet<SessionRef>,
    /// Those of them that anything new was recorded of.
    changed: BTreeSet<SessionRef>,
    elsewhere: u64,
    entries: u64,
    events: u64,
    frames: u64,
}

impl<'p> Intake<'p> {
    fn new(ctx: &'p CommandContext, only_here: bool) -> Self {
        Self {
            ctx,
            only_here,
            current: None,
            run: Vec::new(),
            bytes: 0,
            imported: Imported::default(),
            failed: None,
        }
    }

    fn take(&mut self, item: TranscriptItem) -> ControlFlow<()> {
        let done = match item {
            TranscriptItem::Session(about) => self.turn_to(about),
            TranscriptItem::Entry(entry) => self.add(*entry),
            TranscriptItem::Ended(session) => self.end(&session),
        };
        match done {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.failed = Some(error);
                ControlFlow::Break(())
            }
        }
    }

    fn turn_to(&mut self, about: RecordedSession) -> Result<(), EngineError> {
        self.record()?;
        if self.only_here && !self.is_here(about.directory.as_deref()) {
            self.imported.elsewhere += 1;
            self.current = None;
            return Ok(());
        }
        self.imported.sessions.insert(about.session.clone());
        let actor = Actor {
            session: about.session,
            worktree: self.ctx.actor.worktree.clone(),
            message: None,
            by: Author::Agent,
        };
        let view = IngestOptions {
            mode: IngestMode::Past,
            parent: about.parent,
            ..IngestOptions::default()
        };
        self.current = Some((actor, view));
        Ok(())
    }

    /// Returns true if a session ran in this project, or does not say where it ran.
    fn is_here(&self, directory: Option<&str>) -> bool {
        directory.is_none_or(|directory| {
            let root = &self.ctx.engine.project().root;
            Path::new(directory).starts_with(root) || root.starts_with(directory)
        })
    }

    fn add(&mut self, entry: Entry) -> Result<(), EngineError> {
        if self.current.is_none() {
            return Ok(());
        }
        self.imported.entries += 1;
        self.bytes += weight(&entry);
        self.run.push(entry);
        if self.bytes >= RUN_BYTES || self.run.len() >= RUN_ENTRIES {
            self.record()?;
        }
        Ok(())
    }

    fn record(&mut self) -> Result<(), EngineError> {
        let run = std::mem::take(&mut self.run);
        self.bytes = 0;
        if let Some((actor, view)) = &self.current
            && !run.is_empty()
        {
            let recorded = self.ctx.engine.ingest_with(actor, view, &run)?;
            let session = actor.session.clone();
            self.count(&session, &recorded);
        }
        Ok(())
    }

    fn end(&mut self, session: &SessionRef) -> Result<(), EngineError> {
        self.record()?;
        let current = self.current.take();
        if let Some((actor, _)) = current.filter(|(actor, _)| actor.session == *session) {
            let recorded = self.ctx.engine.settle(&actor)?;
            self.count(session, &recorded);
        }
        Ok(())
    }

    fn count(&mut self, session: &SessionRef, recorded: &[Recorded]) {
        if !recorded.is_empty() {
            self.imported.changed.insert(session.clone());
        }
        self.imported.events += recorded.len() as u64;
        let opened = |entry: &&Recorded| matches!(entry.event, Event::FrameOpened { .. });
        self.imported.frames += recorded.iter().filter(opened).count() as u64;
    }
}

/// Returns the approximate size of an entry in memory, in bytes.
fn weight(entry: &Entry) -> usize {
    200 + match &entry.kind {
        EntryKind::User { text, .. }
        | EntryKind::Assistant { text }
        | EntryKind::Thinking { text }
        | EntryKind::Plan { text }
        | EntryKind::Attached { text, .. }
        | EntryKind::SubagentEnded { text, .. } => text.len(),
        EntryKind::Call(call) => call.arguments.len(),
        EntryKind::Answer(answer) => answer.text.len(),
        EntryKind::SubagentStarted { prompt, .. } => prompt.len(),
        EntryKind::Compacted { summary, .. } => summary.as_ref().map_or(0, String::len),
        EntryKind::Begun(_)
        | EntryKind::Todos(_)
        | EntryKind::Changed { .. }
        | EntryKind::Interrupted { .. }
        | EntryKind::Failed { .. }
        | EntryKind::Waiting { .. }
        | EntryKind::TurnEnded
        | EntryKind::Titled { .. }
        | EntryKind::Usage(_) => 0,
    }
}

fn print_summary(
    output: &mut Output,
    sources: &[RecordingFile],
    imported: &Imported,
    report: &ReadReport,
    unread: &[String],
) -> Result<(), Failure> {
    let formats: BTreeSet<RecordingFormat> = sources.iter().map(|source| source.format).collect();
    let formats: Vec<&str> = formats.into_iter().map(RecordingFormat::label).collect();
    if output.is_json() {
        return output.data(&json!({
            "formats": formats,
            "files": sources.len(),
            "sessions": imported.sessions.len(),
            "sessionsKnown": imported.sessions.len() - imported.changed.len(),
            "otherProjects": imported.elsewhere,
            "entries": imported.entries,
            "frames": imported.frames,
            "events": imported.events,
            "bad": report.bad,
            "problems": report.problems.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "unknownKinds": report.unknown,
            "unread": unread,
        }));
    }
    output.line(format!(
        "Imported {} of {} from {}: {} and {}.",
        counted(imported.changed.len() as u64, "session", "sessions"),
        formats.join(", "),
        counted(sources.len() as u64, "file", "files"),
        counted(imported.frames, "new frame", "new frames"),
        counted(imported.events, "new event", "new events"),
    ))?;
    let known = (imported.sessions.len() - imported.changed.len()) as u64;
    if known > 0 {
        let known = counted(known, "session was", "sessions were");
        output.dim(format!("{known} there already."))?;
    }
    if imported.elsewhere > 0 {
        let others = counted(imported.elsewhere, "session", "sessions");
        output.dim(format!(
            "{others} of other projects left out; `--all` takes them too."
        ))?;
    }
    for problem in &report.problems {
        output.notice(&problem.to_string())?;
    }
    let more = report.bad.saturating_sub(report.problems.len() as u64);
    if more > 0 {
        let more = counted(more, "other place", "other places");
        output.notice(&format!("{more} could not be read"))?;
    }
    if !report.unknown.is_empty() {
        let kinds: Vec<String> = report
            .unknown
            .iter()
            .map(|(kind, count)| format!("{kind} ({count})"))
            .collect();
        output.notice(&format!(
            "lines of unknown kinds left out: {}",
            kinds.join(", ")
        ))?;
    }
    for problem in unread {
        output.notice(problem)?;
    }
    Ok(())
}
