//! The generic layer: what frames, todos, the session log and git say, in this order.

use super::anchors::SUBAGENT;
use super::document::Document;
use super::draft::{Draft, Rank};
use super::session_log::{Field, SessionLog};
use super::{Heading, Mode, Source, Sources};
use crate::context::{Failed, Surroundings};
use crate::frame::{Frame, Origin, Status};
use crate::note::Note;
use crate::transcript::TodoStatus;

/// How many finished frames, decisions of a frame or files are shown.
const SHOWN: usize = 6;

/// What the host says about the session itself.
pub(super) fn from_host(draft: &mut Draft, sources: &Sources) {
    if sources.mode == Mode::ReadOnly {
        draft.add(
            Heading::Status,
            Rank::Vital,
            "mode: plan (read-only)",
            Source::Host,
        );
    }
}

/// What the frame tree says.
pub(super) fn from_frames(draft: &mut Draft, sources: &Sources) {
    let Some(around) = &sources.around else {
        return;
    };
    let frontier = around.frontier();
    let of = |frame: &Frame| Source::Frame(frame.id.clone());
    let root = around.ancestors.last().unwrap_or(&around.current);
    draft.add(Heading::Objective, Rank::Vital, &goal(root), of(root));
    let current = &around.current;
    // What nobody opened is only known to be going on: others may know better what the step is.
    let is_asked = current.origin == Origin::Asked;
    if current.status.is_open() && is_asked {
        draft.add(
            Heading::CurrentStep,
            Rank::Vital,
            &goal(current),
            of(current),
        );
    }
    let place = &around.place;
    let mut status = format!("“{}” is {}", current.title, current.status.label());
    if place.of > 1 {
        status.push_str(&format!(
            "; {} of {} beside it complete",
            place.completed,
            place.of - 1
        ));
    }
    status.push('.');
    draft.add(Heading::Status, Rank::Useful, &status, of(current));
    in_flight(draft, around);

    let mut done: Vec<&Frame> = around
        .siblings
        .iter()
        .filter(|frame| frame.status == Status::Completed)
        .collect();
    done.sort_by_key(|frame| (frame.closed, frame.rank, frame.id.clone()));
    done.extend(&frontier.done);
    let first = done.len().saturating_sub(SHOWN);
    for frame in done.iter().skip(first) {
        let text = match frame.compacted_results() {
            Some(results) => format!("{}: {results}", frame.title),
            None => frame.title.to_string(),
        };
        draft.add(Heading::Completed, Rank::Useful, &text, of(frame));
    }
    draft.omit(Heading::Completed, first);

    let mut planned: Vec<&Frame> = around.planned.frames.iter().collect();
    planned.sort_by_key(|frame| (frame.rank, frame.id.clone()));
    let begun = around
        .open
        .frames
        .iter()
        .filter(|frame| frame.status == Status::InProgress)
        // What a subagent is at is not to be done once more.
        .filter(|frame| {
            let mut at_work = around.subagents.iter();
            !at_work.any(|one| one.frame.as_ref() == Some(&frame.id))
        });
    let ahead: Vec<&Frame> = planned
        .into_iter()
        .chain(&around.next)
        .chain(begun)
        .collect();
    for frame in ahead.iter().take(SHOWN) {
        draft.add(Heading::Remaining, Rank::Useful, &goal(frame), of(frame));
    }
    draft.omit(Heading::Remaining, ahead.len().saturating_sub(SHOWN));

    frames_learned(draft, around);
    if let Some(next) = frontier.next {
        draft.add(Heading::NextAction, Rank::Vital, &goal(next), of(next));
    } else if current.status == Status::InProgress && is_asked {
        draft.add(
            Heading::NextAction,
            Rank::Vital,
            &goal(current),
            of(current),
        );
    }
}

/// Who else is at work: what is under way need not be started again.
fn in_flight(draft: &mut Draft, around: &Surroundings) {
    for subagent in &around.subagents {
        let mut text = format!("{SUBAGENT}{}: “{}”", subagent.session, subagent.title);
        if let Some((state, started)) = subagent.standing {
            text.push_str(&format!(", {state}, started {started}"));
        }
        let source = match &subagent.frame {
            Some(frame) => {
                text.push_str(&format!(", frame {frame}"));
                Source::Frame(frame.clone())
            }
            None => Source::Host,
        };
        draft.add(Heading::Status, Rank::Needed, &text, source);
    }
}

/// Where nothing says what is being done and what comes next: the frame that is worked on.
pub(super) fn from_current_frame(draft: &mut Draft, sources: &Sources) {
    let current = sources.around.as_ref().map(|around| &around.current);
    let Some(current) = current.filter(|frame| frame.status == Status::InProgress) else {
        return;
    };
    for heading in [Heading::CurrentStep, Heading::NextAction] {
        if draft.is_empty(heading) {
            let source = Source::Frame(current.id.clone());
            draft.add(heading, Rank::Vital, &goal(current), source);
        }
    }
}

/// What was said, decided, made and tried in the frames.
fn frames_learned(draft: &mut Draft, around: &Surroundings) {
    let frontier = around.frontier();
    let of = |frame: &Frame| Source::Frame(frame.id.clone());
    let current = &around.current;
    for directive in around.directives.iter().rev().take(SHOWN).rev() {
        let text = format!("The user said: {}", directive.text);
        draft.add(Heading::Decisions, Rank::Needed, &text, of(current));
    }
    for frame in around.ancestors.iter().rev().chain([current]) {
        for note in &frame.notes {
            match note {
                Note::Decision { text, why } => {
                    let text = because(text.as_str(), why.as_ref().map(crate::Prose::as_str));
                    draft.add(Heading::Decisions, Rank::Useful, &text, of(frame));
                }
                Note::Artifact(path) => {
                    draft.add(Heading::ActiveFiles, Rank::Useful, path.as_str(), of(frame));
                }
                _ => {}
            }
        }
    }
    for frame in &frontier.blocked {
        let text = match &frame.blocked_on {
            Some(reason) => format!("“{}” waits for: {reason}", frame.title),
            None => format!("“{}” is blocked", frame.title),
        };
        draft.add(Heading::Blockers, Rank::Needed, &text, of(frame));
    }
    for failed in frontier.failed.iter().rev().take(SHOWN).rev() {
        let (text, frame) = match failed {
            Failed::Frame(frame) => {
                let results = frame.compacted_results();
                (because(frame.title.as_str(), results.as_deref()), &frame.id)
            }
            Failed::Attempt { frame, text, why } => (because(text, *why), *frame),
        };
        let text = format!("Tried in vain: {text}");
        draft.add(
            Heading::Blockers,
            Rank::Extra,
            &text,
            Source::Frame(frame.clone()),
        );
    }
}

fn goal(frame: &Frame) -> String {
    match frame.compacted_criteria() {
        Some(criteria) => format!("{} — done when: {criteria}", frame.title),
        None => frame.title.to_string(),
    }
}

fn because(text: &str, why: Option<&str>) -> String {
    match why {
        Some(why) => format!("{text} (because: {why})"),
        None => text.to_owned(),
    }
}

/// What the host's todo list says.
pub(super) fn from_todos(draft: &mut Draft, sources: &Sources) {
    let all = || sources.todos.iter().enumerate();
    let of = |place: usize| Source::Todo(place + 1);
    let mut open = 0;
    for (place, todo) in all() {
        match todo.status {
            TodoStatus::Active => {
                draft.add(Heading::CurrentStep, Rank::Vital, &todo.text, of(place));
            }
            TodoStatus::Pending => {}
            TodoStatus::Done | TodoStatus::Cancelled => continue,
        }
        open += 1;
        if open <= SHOWN {
            draft.add(Heading::Remaining, Rank::Useful, &todo.text, of(place));
        }
    }
    draft.omit(Heading::Remaining, open.saturating_sub(SHOWN));
    let done: Vec<_> = all()
        .filter(|(_, todo)| todo.status == TodoStatus::Done)
        .collect();
    let first = done.len().saturating_sub(SHOWN);
    for (place, todo) in done.iter().skip(first) {
        draft.add(Heading::Completed, Rank::Extra, &todo.text, of(*place));
    }
    draft.omit(Heading::Completed, first);
    if draft.is_empty(Heading::NextAction) {
        let state = |wanted| all().find(|(_, todo)| todo.status == wanted);
        let next = state(TodoStatus::Active).or_else(|| state(TodoStatus::Pending));
        if let Some((place, todo)) = next {
            draft.add(Heading::NextAction, Rank::Vital, &todo.text, of(place));
        }
    }
}

/// What the newest entry of the session log says.
pub(super) fn from_log(
    draft: &mut Draft,
    log: &SessionLog,
    document: &Document,
    has_workflow: bool,
) {
    let Some(entry) = log.newest() else {
        return;
    };
    let of = |line| Source::file(document, line);
    let open: Vec<_> = entry.all(Field::OpenWork).collect();
    let blockers: Vec<_> = entry.all(Field::Blockers).collect();
    let focus = entry.focus.as_ref();
    let first_open = open.first();
    // A focus is a tag or a sentence; a tag says less than the work that is open.
    let sentence = focus.filter(|focus| focus.text.contains(' '));
    if draft.is_empty(Heading::Objective)
        && let Some(said) = sentence.or(first_open.copied()).or(focus)
    {
        draft.add(Heading::Objective, Rank::Vital, &said.text, of(said.line));
    }
    if draft.is_empty(Heading::CurrentStep) {
        if let Some(said) = first_open {
            let text = format!("Current open work: {}", said.text);
            draft.add(Heading::CurrentStep, Rank::Vital, &text, of(said.line));
        } else if let Some(said) = focus {
            draft.add(Heading::CurrentStep, Rank::Vital, &said.text, of(said.line));
        }
    }
    if let Some(blocker) = blockers.first() {
        let text = format!("At risk — blockers recorded: {}", blocker.text);
        draft.add(Heading::Status, Rank::Useful, &text, of(blocker.line));
    } else if let Some(focus) = focus {
        let text = format!("Active — working on {}.", focus.text.trim_end_matches('.'));
        draft.add(Heading::Status, Rank::Useful, &text, of(focus.line));
    }
    let done: Vec<_> = entry.all(Field::Completed).collect();
    let first = done.len().saturating_sub(SHOWN);
    for said in done.iter().skip(first) {
        draft.add(Heading::Completed, Rank::Extra, &said.text, of(said.line));
    }
    draft.omit(Heading::Completed, first);
    for said in &open {
        draft.add(Heading::Remaining, Rank::Useful, &said.text, of(said.line));
    }
    for said in entry.all(Field::Next) {
        draft.add(Heading::Remaining, Rank::Useful, &said.text, of(said.line));
    }
    for said in entry.all(Field::PendingTests) {
        let text = format!("Pending tests: {}", said.text);
        draft.add(Heading::Remaining, Rank::Useful, &text, of(said.line));
    }
    for said in entry.all(Field::Decisions) {
        draft.add(Heading::Decisions, Rank::Useful, &said.text, of(said.line));
    }
    for said in entry.all(Field::Files) {
        for path in paths(&said.text) {
            draft.add(Heading::ActiveFiles, Rank::Useful, path, of(said.line));
        }
    }
    for said in &entry.lines {
        for path in quoted(&said.text).filter(|path| is_path(path)) {
            draft.add(Heading::ActiveFiles, Rank::Extra, path, of(said.line));
        }
    }
    for said in &blockers {
        draft.add(Heading::Blockers, Rank::Needed, &said.text, of(said.line));
    }
    // A workflow has a section for them.
    for said in entry.all(Field::Questions).filter(|_| !has_workflow) {
        let text = format!("Open question: {}", said.text);
        draft.add(Heading::Blockers, Rank::Useful, &text, of(said.line));
    }
    if draft.is_empty(Heading::NextAction)
        && let Some(said) = entry.all(Field::Next).next().or(first_open.copied())
    {
        draft.add(Heading::NextAction, Rank::Vital, &said.text, of(said.line));
    }
}

/// What stands between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Paths in a list of files, quoted or not.
fn paths(text: &str) -> Vec<&str> {
    if text.contains('`') {
        quoted(text).filter(|path| is_path(path)).collect()
    } else {
        let words = text
            .split([',', ';', ' '])
            .map(|word| word.trim_end_matches('.'));
        words.filter(|word| is_path(word)).collect()
    }
}

/// Whether a word is a file: it has a folder or an extension, and no blanks.
fn is_path(word: &str) -> bool {
    if word.is_empty() || word.contains(char::is_whitespace) || word.starts_with(['/', '-', '~']) {
        return false;
    }
    if word.contains(['(', ')', '<', '>', '=', '*', '|', ':', '$', '@', '`']) {
        return false;
    }
    let file = word
        .trim_end_matches('/')
        .rsplit('/')
        .next()
        .unwrap_or_default();
    match file.rsplit_once('.') {
        Some((stem, extension)) => {
            let is_extension = (1..=5).contains(&extension.len())
                && extension.chars().all(|c| c.is_ascii_alphanumeric())
                && extension.contains(|c: char| c.is_ascii_alphabetic());
            is_extension && (!stem.is_empty() || word.contains('/'))
        }
        None => word.ends_with('/') && word.len() > 2,
    }
}

/// What git says.
pub(super) fn from_git(draft: &mut Draft, sources: &Sources) {
    let Some(git) = &sources.git else {
        return;
    };
    let branch = git.branch.as_ref().map_or_else(
        || "No branch".to_owned(),
        |branch| format!("Branch `{branch}`"),
    );
    let text = match git.changed_total {
        0 => format!("{branch}, no uncommitted changes."),
        1 => format!("{branch}, 1 file with uncommitted changes."),
        more => format!("{branch}, {more} files with uncommitted changes."),
    };
    draft.add(Heading::Status, Rank::Spare, &text, Source::Git);
    for path in git.changed.iter().take(SHOWN) {
        draft.add(Heading::ActiveFiles, Rank::Spare, path, Source::Git);
    }
    let more = git
        .changed_total
        .saturating_sub(git.changed.len().min(SHOWN));
    draft.omit(Heading::ActiveFiles, more);
    for commit in git.commits.iter().take(3).rev() {
        let text = format!("Commit {}: {}", commit.id, commit.subject);
        draft.add(Heading::Completed, Rank::Spare, &text, Source::Git);
    }
}
