//! What is said of a frame, depending on where it stands.

use std::borrow::Cow;

use crate::context::draft::{Body, Draft, Field, Inside, Meter, TRUNCATED, short_title};
use crate::context::relevance::artifacts;
use crate::context::{Calls, Provenance};
use crate::frame::Frame;
use crate::note::{Evidence, Note};
use crate::text::Prose;
use crate::xml::{Element, Separator};

/// How long a title may be where it is an attribute.
pub(super) const TITLE_TOKENS: usize = 32;
/// How many checked facts of a frame are told: the newest.
const EVIDENCE: usize = 8;

/// What is told of a frame, as an element that can be cut.
pub(super) fn tell(frame: &Frame, telling: Telling, calls: Calls) -> Draft<'_> {
    let mut attributes: Vec<(&'static str, Cow<'_, str>)> = Vec::with_capacity(5);
    attributes.push(("id", frame.id.as_str().into()));
    attributes.push(("status", frame.status.as_str().into()));
    if frame
        .span
        .as_ref()
        .is_some_and(|span| span.session.is_shell())
    {
        attributes.push(("from", Provenance::User.as_str().into()));
    }
    if !frame.status.is_open() {
        attributes.push(("log", calls.log(&frame.id).into()));
    }
    let mut fields = Vec::with_capacity(1 + telling.fields().len());
    fields.push(Field::text("title", frame.title.as_str(), 2));
    fields.extend(telling.fields().iter().filter_map(|field| field(frame)));
    Draft {
        name: "frame",
        attributes,
        inside: Inside::Fields(fields),
    }
}

/// A frame as one line: its id and its title, cut if it is long.
pub(super) fn titled<'a>(frame: &'a Frame, name: &'static str, meter: Meter<'_>) -> Element<'a> {
    let (title, cut) = short_title(frame.title.as_str(), TITLE_TOKENS, meter);
    let element = Element::new(name)
        .with("id", frame.id.as_str())
        .with("title", title);
    if cut {
        element.with(TRUNCATED, "true")
    } else {
        element
    }
}

/// What is told of a frame.
#[derive(Clone, Copy)]
pub(super) enum Telling {
    /// What it is for, and what was settled on the way: for the frames above.
    Goal,
    /// What it came to: for finished frames, which speak through their results.
    Results,
    /// What it waits for: for frames under way.
    Standing,
    /// All of it: for the current frame.
    Everything,
}

type Part = for<'a> fn(&'a Frame) -> Option<Field<'a>>;

impl Telling {
    /// In the order in which they are shown, which is that of their worth.
    fn fields(self) -> &'static [Part] {
        match self {
            Self::Goal => &[criteria, blocked_on, decisions, results, files],
            Self::Results => &[results, files],
            Self::Standing => &[blocked_on],
            Self::Everything => &[
                full_criteria,
                blocked_on,
                results,
                decisions,
                evidence,
                files,
            ],
        }
    }
}

fn full_criteria(frame: &Frame) -> Option<Field<'_>> {
    let dense = frame.criteria_compacted.as_ref().map(Prose::as_str);
    let text = frame.criteria.as_ref().map(Prose::as_str).or(dense)?;
    Some(Field {
        name: "success-criteria",
        body: Body::Text(text.into(), dense.filter(|dense| *dense != text)),
        weight: 3,
    })
}

fn criteria(frame: &Frame) -> Option<Field<'_>> {
    let text = frame
        .criteria_compacted
        .as_ref()
        .or(frame.criteria.as_ref())?;
    Some(Field::text("success-criteria", text.as_str(), 3))
}

fn results(frame: &Frame) -> Option<Field<'_>> {
    let text = frame
        .results_compacted
        .as_ref()
        .or(frame.results.as_ref())?;
    Some(Field::text("results", text.as_str(), 4))
}

fn blocked_on(frame: &Frame) -> Option<Field<'_>> {
    let text = frame.blocked_on.as_ref()?;
    Some(Field::text("blocked-on", text.as_str(), 2))
}

fn files(frame: &Frame) -> Option<Field<'_>> {
    list(
        "artifacts",
        artifacts(frame).map(Cow::Borrowed).collect(),
        Separator::Comma,
        1,
    )
}

fn decisions(frame: &Frame) -> Option<Field<'_>> {
    let decided = frame.notes.iter().filter_map(|note| match note {
        Note::Decision { text, why } => {
            Some(reasoned(text.as_str(), why.as_ref().map(Prose::as_str)))
        }
        _ => None,
    });
    list("decisions", decided.collect(), Separator::Line, 2)
}

fn evidence(frame: &Frame) -> Option<Field<'_>> {
    let mut checked: Vec<Cow<'_, str>> = Vec::new();
    for note in frame.notes.iter().rev() {
        if let Note::Evidence(fact) = note {
            checked.push(checked_fact(fact).into());
        }
        if checked.len() == EVIDENCE {
            break;
        }
    }
    checked.reverse();
    list("evidence", checked, Separator::Line, 1)
}

fn checked_fact(fact: &Evidence) -> String {
    match fact {
        Evidence::Command { command, exit_code } => format!("`{command}` ended with {exit_code}"),
        Evidence::Test { id, passed: true } => format!("test {id} passed"),
        Evidence::Test { id, passed: false } => format!("test {id} failed"),
        Evidence::Commit(commit) => format!("commit {commit}"),
    }
}

fn list<'a>(
    name: &'static str,
    items: Vec<Cow<'a, str>>,
    separator: Separator,
    weight: usize,
) -> Option<Field<'a>> {
    (!items.is_empty()).then_some(Field {
        name,
        body: Body::List(items, separator),
        weight,
    })
}

/// A text with its reason.
pub(super) fn reasoned<'a>(text: &'a str, why: Option<&str>) -> Cow<'a, str> {
    match why {
        Some(why) => format!("{text} (because: {why})").into(),
        None => text.into(),
    }
}
