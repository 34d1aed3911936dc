//! What a frame's JSON object says in our vocabulary: the reading half of the lens.
//!
//! Both shapes are read, and mixtures of them: the later one with `title`, `successCriteria` and
//! `results`, and the earlier one with `goal` and `compactionSummary`. Where a frame belongs in the
//! tree and what our own `flamestack` object adds is not decided here.

use flamestack_core::frame::Invalidation;
use flamestack_core::id::Timestamp;
use flamestack_core::text::{PROSE_LIMIT, TITLE_LIMIT, TextProblem, condense};
use flamestack_core::{Prose, Status, Title};

use super::error::{FrameProblem, WrongType};
use super::fields::{Object, as_prose, prose, proses, text, texts, time};

/// How long the title gets that is made out of a goal.
const GOAL_TITLE: usize = 100;

/// What an object says of its frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) status: Status,
    pub(super) title: Title,
    pub(super) criteria: Option<Prose>,
    pub(super) criteria_compacted: Option<Prose>,
    pub(super) results: Option<Prose>,
    pub(super) results_compacted: Option<Prose>,
    pub(super) artifacts: Vec<Prose>,
    pub(super) decisions: Vec<Prose>,
    pub(super) invalidation: Option<Invalidation>,
    pub(super) created_at: Timestamp,
    pub(super) updated_at: Timestamp,
}

/// Reads an object. `key` is the frame's name in the file, `unknown` the time that is taken for its
/// creation when it names none.
pub(super) fn read(object: &Object, key: &str, unknown: Timestamp) -> Result<Said, FrameProblem> {
    let status = text(object, "status")?.ok_or(FrameProblem::MissingField { field: "status" })?;
    let created_at = time(object, "createdAt")?.unwrap_or(unknown);
    let updated_at = time(object, "updatedAt")?.unwrap_or(created_at);
    let invalidated_at = time(object, "invalidatedAt")?.unwrap_or(updated_at);
    Ok(Said {
        status: Status::from_name(status).ok_or_else(|| FrameProblem::UnknownStatus {
            found: status.to_owned(),
        })?,
        title: title(object, key)?,
        criteria: first_prose(object, "successCriteria", "goal")?,
        criteria_compacted: prose(object, "successCriteriaCompacted")?,
        results: first_prose(object, "results", "compactionSummary")?,
        results_compacted: prose(object, "resultsCompacted")?,
        artifacts: proses(object, "artifacts")?,
        decisions: proses(object, "decisions")?,
        invalidation: prose(object, "invalidationReason")?.map(|reason| Invalidation {
            reason,
            at: invalidated_at,
        }),
        created_at,
        updated_at,
    })
}

/// The name of the parent, if it has one.
pub(super) fn parent(object: &Object) -> Result<Option<&str>, WrongType> {
    Ok(text(object, "parentSessionID")?.filter(|parent| !parent.is_empty()))
}

/// The names of the children that were planned, in order.
pub(super) fn planned_children(object: &Object) -> Result<Vec<&str>, WrongType> {
    texts(object, "plannedChildren")
}

/// The later shape's field, else the earlier shape's. A blank one that is there is an answer too.
fn first_prose(object: &Object, late: &str, early: &str) -> Result<Option<Prose>, FrameProblem> {
    match (text(object, late)?, text(object, early)?) {
        (Some(said), _) => as_prose(said, late),
        (None, Some(said)) => as_prose(said, early),
        (None, None) => Ok(None),
    }
}

/// The title, else the first line of the goal, else a name made of the key as the predecessor does.
fn title(object: &Object, key: &str) -> Result<Title, FrameProblem> {
    if let Some(title) = text(object, "title")?
        && let Some(title) = as_title(title, "title", TITLE_LIMIT)?
    {
        return Ok(title);
    }
    let goal = text(object, "goal")?.unwrap_or_default();
    let line = goal.lines().find(|line| !line.trim().is_empty());
    if let Some(line) = line
        && let Some(title) = as_title(line, "goal", GOAL_TITLE)?
    {
        return Ok(title);
    }
    let fallback = if key.starts_with(PLANNED) {
        Title::new("(untitled)")
    } else {
        let start: String = key.chars().take(8).collect();
        Title::new(&format!("Session {start}"))
    };
    fallback.map_err(|problem| text_problem("sessionID", problem))
}

/// How the names of planned frames begin.
pub(super) const PLANNED: &str = "plan-";

/// A title of at most `limit` characters; the whole text stays in the object it came from.
///
/// The predecessors put no limit on titles, so a paragraph is shortened. A text that would not even
/// do as prose is refused like one.
fn as_title(text: &str, field: &str, limit: usize) -> Result<Option<Title>, FrameProblem> {
    if text.len() > PROSE_LIMIT {
        let length = text.chars().count();
        return Err(text_problem(field, TextProblem::TitleTooLong { length }));
    }
    // A sentence that just fits takes a mark of two characters more.
    let short = |text: &str| Title::new(&condense(text, limit - 2));
    let title = match Title::new(text) {
        Ok(title) if title.as_str().chars().count() <= limit => Ok(title),
        Ok(_) | Err(TextProblem::TitleTooLong { .. }) => short(text),
        Err(problem) => Err(problem),
    };
    match title {
        Ok(title) => Ok(Some(title)),
        Err(TextProblem::Empty) => Ok(None),
        Err(problem) => Err(text_problem(field, problem)),
    }
}

fn text_problem(field: &str, problem: TextProblem) -> FrameProblem {
    FrameProblem::Text {
        field: field.to_owned(),
        problem,
    }
}
