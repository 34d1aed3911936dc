//! Recorded sessions of agent programs become frames.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use flamestack_core::SessionRef;
use flamestack_core::command::Actor;
use flamestack_core::event::{Event, Recorded};
use flamestack_core::transcript::{Entry, What};
use flamestack_engine::views::counted;
use flamestack_engine::{Engine, EngineError, View};
use flamestack_hosts::transcript::{About, Format, Item, Report, Source, read};
use serde_json::json;

use crate::failure::Failure;
use crate::output::{DIM, Output, Progress, painted};
use crate::workplace::Workplace;

/// How much is recorded in one go: enough that the disk is asked rarely, little enough that memory
/// stays flat.
const RUN_BYTES: usize = 4 * 1024 * 1024;
const RUN_ENTRIES: usize = 4000;

/// Brings in the sessions of some files.
pub(super) fn run(
    place: &Workplace,
    output: &mut Output,
    sources: &[Source],
    only_here: bool,
) -> Result<(), Failure> {
    let sizes: Vec<u64> = sources.iter().map(|source| size(&source.path)).collect();
    let total = sizes.iter().sum();
    let progress = Progress::new("importing");
    let mut intake = Intake::new(place, only_here);
    let mut report = Report::default();
    let mut unread = Vec::new();
    let mut behind = 0;
    for (source, size) in sources.iter().zip(sizes) {
        let found = read(source, &mut |item, position| {
            progress.at(behind + position.min(size), total);
            intake.take(item)
        });
        match found {
            Ok(found) => report.add(found),
            // One file that cannot be read does not keep the others out.
            Err(error) => unread.push(format!("{}: {error}", source.path.display())),
        }
        if let Some(error) = intake.failed.take() {
            return Err(error.into());
        }
        behind += size;
    }
    drop(progress);
    told(output, sources, &intake, &report, &unread)
}

fn size(path: &Path) -> u64 {
    fs_err::metadata(path).map_or(0, |metadata| metadata.len())
}

/// Takes what a reader comes upon and hands it to the engine, some at a time.
struct Intake<'p> {
    engine: &'p Engine,
    actor: &'p Actor,
    root: PathBuf,
    only_here: bool,
    current: Option<(Actor, View)>,
    run: Vec<Entry>,
    bytes: usize,
    sessions: std::collections::BTreeSet<SessionRef>,
    elsewhere: u64,
    entries: u64,
    events: u64,
    frames: u64,
    failed: Option<EngineError>,
}

impl<'p> Intake<'p> {
    fn new(place: &'p Workplace, only_here: bool) -> Self {
        Self {
            engine: &place.engine,
            actor: &place.actor,
            root: place.engine.project().root.clone(),
            only_here,
            current: None,
            run: Vec::new(),
            bytes: 0,
            sessions: std::collections::BTreeSet::new(),
            elsewhere: 0,
            entries: 0,
            events: 0,
            frames: 0,
            failed: None,
        }
    }

    fn take(&mut self, item: Item) -> ControlFlow<()> {
        let done = match item {
            Item::Session(about) => self.turn_to(about),
            Item::Entry(entry) => self.add(*entry),
            Item::Ended(session) => self.end(&session),
        };
        match done {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.failed = Some(error);
                ControlFlow::Break(())
            }
        }
    }

    fn turn_to(&mut self, about: About) -> Result<(), EngineError> {
        self.record()?;
        if self.only_here && !self.is_here(about.directory.as_deref()) {
            self.elsewhere += 1;
            self.current = None;
            return Ok(());
        }
        self.sessions.insert(about.session.clone());
        let actor = Actor {
            session: about.session,
            worktree: self.actor.worktree.clone(),
            message: None,
        };
        let view = View {
            past: true,
            parent: about.parent,
            ..View::default()
        };
        self.current = Some((actor, view));
        Ok(())
    }

    /// Whether a session ran in this project. One that does not say so may have.
    fn is_here(&self, directory: Option<&str>) -> bool {
        directory.is_none_or(|directory| {
            let directory = Path::new(directory);
            directory.starts_with(&self.root) || self.root.starts_with(directory)
        })
    }

    fn add(&mut self, entry: Entry) -> Result<(), EngineError> {
        if self.current.is_none() {
            return Ok(());
        }
        self.entries += 1;
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
            let recorded = self.engine.witness_as(actor, view, &run)?;
            self.count(&recorded);
        }
        Ok(())
    }

    fn end(&mut self, session: &SessionRef) -> Result<(), EngineError> {
        self.record()?;
        let current = self.current.take();
        if let Some((actor, _)) = current.filter(|(actor, _)| actor.session == *session) {
            let recorded = self.engine.settle(&actor)?;
            self.count(&recorded);
        }
        Ok(())
    }

    fn count(&mut self, recorded: &[Recorded]) {
        self.events += recorded.len() as u64;
        let opened = |entry: &&Recorded| matches!(entry.event, Event::FrameOpened { .. });
        self.frames += recorded.iter().filter(opened).count() as u64;
    }
}

/// About how much memory an entry takes.
fn weight(entry: &Entry) -> usize {
    200 + match &entry.what {
        What::User { text, .. }
        | What::Assistant { text }
        | What::Thinking { text }
        | What::Plan { text }
        | What::Attached { text, .. }
        | What::SubagentEnded { text, .. } => text.len(),
        What::Call(call) => call.arguments.len(),
        What::Answer(answer) => answer.text.len(),
        What::SubagentStarted { prompt, .. } => prompt.len(),
        What::Compacted { summary, .. } => summary.as_ref().map_or(0, String::len),
        _ => 0,
    }
}

fn told(
    output: &mut Output,
    sources: &[Source],
    intake: &Intake<'_>,
    report: &Report,
    unread: &[String],
) -> Result<(), Failure> {
    let formats: std::collections::BTreeSet<Format> =
        sources.iter().map(|source| source.format).collect();
    let formats: Vec<&str> = formats.into_iter().map(Format::label).collect();
    if output.is_json() {
        return output.data(&json!({
            "formats": formats,
            "files": sources.len(),
            "sessions": intake.sessions.len(),
            "otherProjects": intake.elsewhere,
            "entries": intake.entries,
            "frames": intake.frames,
            "events": intake.events,
            "bad": report.bad,
            "problems": report.problems.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "unknownKinds": report.unknown,
            "unread": unread,
        }));
    }
    output.line(format!(
        "Imported {} of {} from {}: {} and {}.",
        counted(intake.sessions.len() as u64, "session", "sessions"),
        formats.join(", "),
        counted(sources.len() as u64, "file", "files"),
        counted(intake.frames, "new frame", "new frames"),
        counted(intake.events, "new event", "new events"),
    ))?;
    if intake.elsewhere > 0 {
        let others = counted(intake.elsewhere, "session", "sessions");
        output.line(painted(
            DIM,
            format!("{others} of other projects left out; `--all` takes them too."),
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
