//! Contexts as they were sent, section by section, with what was left out and what compactions lost.

use flamestack_context::{Context, Omission};
use flamestack_core::SessionRef;
use flamestack_core::compaction::{AnchorReport, CompactionKind};
use serde::Serialize;

use crate::Engine;
use crate::context::{ContextOptions, ContextTarget, SentText};
use crate::error::Result;
use crate::views::{compactions, printable};

/// Maximum number of lost anchors shown of a compaction.
const LOST: usize = 40;

/// The context that a session was sent, and the one that it would be sent now.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SentView {
    /// The session, if the view is of one.
    pub session: Option<String>,
    /// The header that it was sent and the updates since, as sent.
    pub sent: Vec<SectionView>,
    /// The whole context as of now.
    pub now: Vec<SectionView>,
    /// Tokens of the context as of now.
    pub tokens: u64,
    /// Maximum number of tokens of it.
    pub budget: u64,
    /// Its compactions, oldest first.
    pub compactions: Vec<CompactionReceipt>,
}

/// A section of a context.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SectionView {
    /// Name.
    pub kind: String,
    /// The delivery that it was part of: `header`, `update` or `now`.
    pub part: &'static str,
    /// The event that recorded the delivery.
    pub seq: Option<i64>,
    /// Number of tokens.
    pub tokens: u64,
    /// The text.
    pub text: String,
    /// Parts that were left out of it.
    pub left_out: Vec<LeftOut>,
}

/// Something that was left out of a section.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LeftOut {
    /// Description.
    pub what: String,
    /// Number.
    pub count: u64,
    /// Reason.
    pub why: &'static str,
    /// The call that shows it.
    pub call: String,
}

/// Outcome of a compaction: what it kept, lost and got back.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionReceipt {
    /// Reason, in words.
    pub kind: &'static str,
    /// Time in milliseconds.
    pub at: Option<i64>,
    /// Tokens of the prompt before.
    pub before: Option<u64>,
    /// Tokens of the first prompt after.
    pub after: Option<u64>,
    /// Number of facts that survived.
    pub survived: u64,
    /// Facts that were lost: kind and text.
    pub lost: Vec<(&'static str, String)>,
    /// Number of lost facts that are not listed.
    pub more_lost: u64,
    /// Tokens that were restored.
    pub restored: u64,
}

/// Returns what a session was sent and would be sent, or the context of a frame.
pub fn sections(engine: &Engine, target: &ContextTarget) -> Result<SentView> {
    let contexts = engine.contexts();
    let mut view = SentView::default();
    if let ContextTarget::Session(session) = target {
        view.session = Some(session.to_string());
        view.compactions = receipts(engine, session)?;
        if let Some(sent) = contexts.sent(session)? {
            view.sent = engine.counting(|tokenizer| {
                let count = |text: &str| tokenizer.count(text) as u64;
                let mut sections = parts(&sent.header, "header", &count);
                for update in &sent.updates {
                    sections.extend(parts(update, "update", &count));
                }
                sections
            });
        }
    }
    if let Some(context) = contexts.context(target, &ContextOptions::default())? {
        view.tokens = context.tokens as u64;
        view.budget = context.budget.total() as u64;
        view.now = now(&context);
    }
    Ok(view)
}

fn now(context: &Context) -> Vec<SectionView> {
    let section = context.sections.iter().map(|section| SectionView {
        kind: section.kind.as_str().to_owned(),
        part: "now",
        seq: None,
        tokens: section.tokens as u64,
        text: printable(&section.body),
        left_out: section.omitted.iter().map(left_out).collect(),
    });
    section.collect()
}

fn left_out(omission: &Omission) -> LeftOut {
    LeftOut {
        what: omission.what.clone(),
        count: omission.count as u64,
        why: omission.why.as_str(),
        call: omission.call.clone(),
    }
}

/// Splits a text that was sent into its sections.
fn parts(sent: &SentText, part: &'static str, count: &dyn Fn(&str) -> u64) -> Vec<SectionView> {
    let section = |(name, text): (&str, &str)| SectionView {
        kind: name.to_owned(),
        part,
        seq: Some(sent.seq.0),
        tokens: count(text),
        text: printable(text),
        left_out: Vec::new(),
    };
    elements(&sent.text).into_iter().map(section).collect()
}

/// Returns the elements directly inside the outermost one, each with its name. A text that has none is
/// one section.
fn elements(text: &str) -> Vec<(&str, &str)> {
    let (mut found, mut depth, mut begun) = (Vec::new(), 0_usize, 0);
    let mut name = "";
    let mut at = 0;
    while let Some(open) = text.get(at..).and_then(|rest| rest.find('<')) {
        let open = at + open;
        let Some(end) = tag_end(text, open) else {
            break;
        };
        let tag = text.get(open..end).unwrap_or_default();
        if tag.starts_with("</") {
            depth = depth.saturating_sub(1);
            if depth == 1 {
                found.push((name, text.get(begun..end).unwrap_or_default()));
            }
        } else {
            let is_empty = tag.ends_with("/>");
            if depth == 1 {
                begun = open;
                let inside = tag.trim_start_matches('<');
                let stop = inside.find(|c: char| c.is_whitespace() || matches!(c, '/' | '>'));
                name = inside
                    .get(..stop.unwrap_or(inside.len()))
                    .unwrap_or_default();
                if is_empty {
                    found.push((name, tag));
                }
            }
            depth += usize::from(!is_empty);
        }
        at = end;
    }
    if found.is_empty() && !text.is_empty() {
        found.push(("text", text));
    }
    found
}

/// Returns the end of the tag that begins at `open`. Attribute values may contain `>`.
fn tag_end(text: &str, open: usize) -> Option<usize> {
    let mut quote = None;
    for (place, c) in text.get(open..)?.char_indices() {
        match (quote, c) {
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            (None, '>') => return Some(open + place + 1),
            _ => {}
        }
    }
    None
}

fn receipts(engine: &Engine, session: &SessionRef) -> Result<Vec<CompactionReceipt>> {
    let history = engine.read(|reading| Ok(compactions::gather(reading, session)?))?;
    let empty = AnchorReport::default();
    let receipt = |one: &flamestack_core::compaction::Compaction| {
        let report = one.report.as_ref().unwrap_or(&empty);
        let lost = report.lost.iter().take(LOST);
        CompactionReceipt {
            kind: one.kind.map_or("unknown", CompactionKind::label),
            at: one.ended.or(one.begun).map(|at| at.0),
            before: one.before,
            after: one.after,
            survived: report.survived.len() as u64,
            lost: lost
                .map(|anchor| (anchor.kind.as_str(), printable(&anchor.text)))
                .collect(),
            more_lost: report.lost.len().saturating_sub(LOST) as u64,
            restored: report.restored,
        }
    };
    Ok(history.compactions.iter().map(receipt).collect())
}

#[cfg(test)]
mod tests {
    use super::elements;

    #[test]
    fn a_sent_text_is_split_into_its_sections() {
        let text = "<c s=\"a>b\">\n<a x=\"1\">\n<f/>\n<f>t</f>\n</a>\n<b/>\n<d>x &lt; y</d>\n</c>";
        let found = elements(text);
        assert_eq!(
            found,
            [
                ("a", "<a x=\"1\">\n<f/>\n<f>t</f>\n</a>"),
                ("b", "<b/>"),
                ("d", "<d>x &lt; y</d>")
            ]
        );
        assert_eq!(elements("no tags"), [("text", "no tags")]);
        assert_eq!(elements("<open"), [("text", "<open")]);
        assert!(elements("").is_empty());
    }
}
