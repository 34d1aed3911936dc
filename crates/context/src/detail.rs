//! Frames as elements, in the detail that their section needs.

use std::borrow::Cow;

use crate::draft::{ElementDraft, Field, Inside, TRUNCATED, TokenCounter, short_title};
use crate::xml::{Element, Separator};
use crate::{Provenance, calls};
use flamestack_core::Author;
use flamestack_core::frame::{CLAIMED, Frame};
use flamestack_core::note::{Evidence, Note};
use flamestack_core::text::Text;
use flamestack_extract::relevance::artifacts;

/// Maximum length of a title in an attribute, in tokens.
pub(super) const TITLE_TOKENS: usize = 32;
/// Maximum number of pieces of evidence; the newest are shown.
const EVIDENCE: usize = 8;

/// Drafts the element of a frame.
pub(super) fn describe(frame: &Frame, detail: Detail) -> ElementDraft<'_> {
    let mut attributes: Vec<(&'static str, Cow<'_, str>)> = Vec::with_capacity(6);
    attributes.push(("id", frame.id.as_str().into()));
    attributes.push(("status", frame.status.as_str().into()));
    if frame.standing().is_claimed {
        attributes.push((CLAIMED, "true".into()));
    }
    let span = frame.span.as_ref();
    if span.is_some_and(|span| span.session.is_shell()) {
        attributes.push(("from", Provenance::User.as_str().into()));
    }
    if !frame.status.is_open() {
        attributes.push(("log", calls::log(&frame.id).into()));
    }
    let mut fields = Vec::with_capacity(1 + detail.fields().len());
    fields.push(Field::text("title", frame.title.as_str(), 2));
    fields.extend(detail.fields().iter().filter_map(|field| field(frame)));
    ElementDraft {
        name: "frame",
        attributes,
        inside: Inside::Fields(fields),
    }
}

/// Returns a frame as one line: its id and its title, cut if it is long.
pub(super) fn titled<'a>(
    frame: &'a Frame,
    name: &'static str,
    counter: TokenCounter<'_>,
) -> Element<'a> {
    let (title, cut) = short_title(frame.title.as_str(), TITLE_TOKENS, counter);
    let element = Element::new(name)
        .with("id", frame.id.as_str())
        .with("title", title);
    if cut {
        element.with(TRUNCATED, "true")
    } else {
        element
    }
}

/// Level of detail of a frame.
#[derive(Clone, Copy)]
pub(super) enum Detail {
    /// Goal and decisions, for ancestors.
    Goal,
    /// Results and decisions, for finished frames.
    Results,
    /// Reason of a block, for open frames.
    Standing,
    /// Everything, for the current frame.
    Everything,
}

type Part = for<'a> fn(&'a Frame) -> Option<Field<'a>>;

impl Detail {
    /// Returns the fields in the order in which they are shown, most important first.
    fn fields(self) -> &'static [Part] {
        match self {
            Self::Goal => &[
                criteria,
                blocked_on,
                user_decisions,
                decisions,
                results,
                files,
            ],
            Self::Results => &[results, user_decisions, decisions, files],
            Self::Standing => &[blocked_on],
            Self::Everything => &[
                full_criteria,
                blocked_on,
                results,
                user_decisions,
                decisions,
                evidence,
                files,
            ],
        }
    }
}

fn full_criteria(frame: &Frame) -> Option<Field<'_>> {
    let dense = frame.criteria_compacted.as_ref().map(Text::as_str);
    let text = frame.criteria.as_ref().map(Text::as_str).or(dense)?;
    Some(Field {
        name: "success-criteria",
        by: None,
        inside: Inside::Text(text.into(), dense.filter(|dense| *dense != text)),
        weight: 3,
    })
}

fn criteria(frame: &Frame) -> Option<Field<'_>> {
    let dense = frame.criteria_compacted.as_ref();
    let text = dense.or(frame.criteria.as_ref())?;
    Some(Field::text("success-criteria", text.as_str(), 3))
}

fn results(frame: &Frame) -> Option<Field<'_>> {
    let dense = frame.results_compacted.as_ref();
    let text = dense.or(frame.results.as_ref())?;
    Some(Field::text("results", text.as_str(), 4))
}

fn blocked_on(frame: &Frame) -> Option<Field<'_>> {
    let text = frame.blocked_on.as_ref()?;
    Some(Field::text("blocked-on", text.as_str(), 2))
}

fn files(frame: &Frame) -> Option<Field<'_>> {
    let paths = artifacts(frame).map(Cow::Borrowed).collect();
    list("artifacts", paths, Separator::Comma, 1)
}

fn user_decisions(frame: &Frame) -> Option<Field<'_>> {
    decisions_by(frame, Author::User)
}

fn decisions(frame: &Frame) -> Option<Field<'_>> {
    decisions_by(frame, Author::Agent)
}

/// Returns the decisions of one author: a model's decision must not pass for the user's.
fn decisions_by(frame: &Frame, author: Author) -> Option<Field<'_>> {
    let decided = frame.notes.iter().filter_map(|note| match note {
        Note::Decision { text, why, by } if *by == author => {
            Some(reasoned(text.as_str(), why.as_ref().map(Text::as_str)))
        }
        _ => None,
    });
    let field = list("decisions", decided.collect(), Separator::Line, 2)?;
    Some(Field {
        by: Some(author),
        ..field
    })
}

fn evidence(frame: &Frame) -> Option<Field<'_>> {
    let facts = frame.notes.iter().rev().filter_map(|note| match note {
        Note::Evidence(fact) => Some(checked_fact(fact).into()),
        _ => None,
    });
    let mut newest: Vec<Cow<'_, str>> = facts.take(EVIDENCE).collect();
    newest.reverse();
    list("evidence", newest, Separator::Line, 1)
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
        by: None,
        inside: Inside::List(items, separator),
        weight,
    })
}

/// Appends the reason to a text.
pub fn reasoned<'a>(text: &'a str, why: Option<&str>) -> Cow<'a, str> {
    match why {
        Some(why) => format!("{text} (because: {why})").into(),
        None => text.into(),
    }
}
