//! Drafts of all sections, with their items in order of priority.

use std::borrow::Cow;
use std::cell::RefCell;
use std::cmp::Reverse;

use crate::detail::{Detail, TITLE_TOKENS, describe, reasoned, titled};
use crate::draft::{ElementDraft, TokenCounter, short_title};
use crate::frontier::{Failed, attempts, failed_frames, in_order, with_status};
use crate::section_draft::{Item, SectionDraft};
use crate::surroundings::{CANDIDATES, DIRECTIVES, LEVEL_PENALTY, LEVELS, PLANNED, Surroundings};
use crate::{ContextSettings, Provenance, SectionKind, calls};
use flamestack_core::Author;
use flamestack_core::frame::{Frame, Status};
use flamestack_core::note::Directive;
use flamestack_extract::relevance::{Comparison, Query, Relevance, ancestor_score};

/// Minimum number of tokens for a line of text to be worth showing.
const LEAST_LINE: usize = 24;

/// Returns the drafts of all sections, in the order in which they are shown.
pub(super) fn drafts<'a>(
    around: &'a Surroundings,
    settings: &ContextSettings,
    counter: TokenCounter<'_>,
) -> Vec<SectionDraft<'a>> {
    let query = if around.siblings.is_empty() && around.uncles.frames.is_empty() {
        Query::default()
    } else {
        Query::of(&around.current)
    };
    let builder = SectionBuilder {
        around,
        comparison: RefCell::new(query.comparison()),
        minimum: settings.minimum_relevance,
    };
    vec![
        builder.ancestors(settings.max_ancestors),
        builder.directives(),
        builder.uncles(),
        builder.siblings(settings.max_siblings),
        builder.failed_attempts(),
        builder.children(),
        builder.planned(counter),
        builder.current(),
        builder.open(),
        builder.subagents(counter),
    ]
}

struct SectionBuilder<'a, 'i> {
    around: &'a Surroundings,
    /// Shared by all sections, since it caches words.
    comparison: RefCell<Comparison<'i>>,
    minimum: i64,
}

impl<'a> SectionBuilder<'a, '_> {
    fn draft(&self, kind: SectionKind, what: &'static str) -> SectionDraft<'a> {
        SectionDraft::new(kind, what, calls::details(&self.around.current.id))
    }

    fn ancestors(&self, max: Option<usize>) -> SectionDraft<'a> {
        let all = &self.around.ancestors;
        let near = all.iter().take(LEVELS).enumerate();
        let root = all.iter().enumerate().skip(LEVELS).last();
        let mut ranked: Vec<(i64, usize, &Frame)> = Vec::new();
        let known: Vec<_> = near.chain(root).collect();
        for (depth, frame) in &known {
            let newer = known
                .iter()
                .filter(|(_, other)| other.changed > frame.changed);
            let is_root = frame.parent.is_none();
            let score = ancestor_score(frame, *depth, is_root, newer.count());
            ranked.push((score, *depth, frame));
        }
        ranked.sort_by_key(|(score, depth, _)| (Reverse(*score), *depth));
        let levels = self.around.levels.max(all.len());
        let allowed = max.unwrap_or(usize::MAX).max(2);
        ranked.truncate(allowed);
        let mut draft = self.draft(SectionKind::Ancestors, "ancestors");
        draft.total = levels;
        draft.over_limit = levels.saturating_sub(allowed);
        for (_, depth, frame) in ranked {
            let mut item = self.item(frame, Detail::Goal);
            // Root first.
            item.place = usize::MAX - depth;
            item.weight = if depth == 0 { 3 } else { 1 };
            draft.items.push(item);
        }
        draft
    }

    fn directives(&self) -> SectionDraft<'a> {
        let mut all: Vec<_> = self.around.directives.iter().collect();
        all.sort_by_key(|directive| directive.said);
        let mut draft = self.draft(SectionKind::Directives, "user directives");
        draft.provenance = Provenance::User;
        draft.total = all.len();
        draft.least = LEAST_LINE;
        if let Some(first) = all.first() {
            draft.call = calls::details(&first.frame);
        }
        // Directives given at a terminal are meant to last, and the first directive is the subject
        // of all others. Of the rest the newest come first.
        let priority = |(place, directive): &(usize, &Directive)| {
            (directive.by != Author::User, *place != 0, Reverse(*place))
        };
        let mut ranked: Vec<(usize, &Directive)> = all.into_iter().enumerate().collect();
        ranked.sort_by_key(priority);
        for (place, directive) in ranked.into_iter().take(DIRECTIVES) {
            let element = ElementDraft::text("directive", directive.text.as_str());
            draft.items.push(Item::new(element, place));
        }
        draft
    }

    fn uncles(&self) -> SectionDraft<'a> {
        let mut draft = self.draft(SectionKind::Uncles, "uncles");
        // A root has none: other roots are separate tasks.
        let Some(parent) = self.around.ancestors.first() else {
            return draft;
        };
        let uncles = &self.around.uncles;
        draft.total = uncles.total.max(uncles.frames.len());
        if let Some(grandparent) = &parent.parent {
            draft.call = calls::results_below(grandparent);
        }
        let far = |uncle: &Frame| {
            let known = self.around.ancestors.iter();
            let mut levels = known.take(LEVELS).map(|ancestor| &ancestor.parent);
            let level = levels.position(|above| *above == uncle.parent);
            i64::try_from(level.unwrap_or(LEVELS)).unwrap_or(0)
        };
        let completed = latest(self.around.uncles.frames.iter());
        // The farther away, the less it has to do with the current frame.
        let ranked = self.ranked(completed, |frame, relevance| {
            relevance.score - LEVEL_PENALTY * far(frame)
        });
        self.put_ranked(&mut draft, ranked);
        draft
    }

    fn siblings(&self, max: Option<usize>) -> SectionDraft<'a> {
        let mut draft = self.draft(SectionKind::Siblings, "completed siblings");
        let Some(parent) = &self.around.current.parent else {
            return draft;
        };
        let completed = with_status(&self.around.siblings, Status::Completed);
        draft.total = self.around.place.completed.max(completed.clone().count());
        draft.call = calls::results_below(parent);
        let mut ranked = self.ranked(latest(completed), |_, relevance| relevance.score);
        let allowed = max.unwrap_or(usize::MAX);
        draft.over_limit = draft.total.saturating_sub(allowed);
        ranked.truncate(allowed);
        self.put_ranked(&mut draft, ranked);
        draft
    }

    /// Failed attempts: of the frame itself and its finished children, then failed siblings, then those
    /// of finished siblings with a related goal, then those of ancestors; in spare room also those of
    /// the other siblings.
    fn failed_attempts(&self) -> SectionDraft<'a> {
        let mut draft = self.draft(SectionKind::FailedAttempts, "failed attempts");
        draft.least = LEAST_LINE;
        let mut found: Vec<(usize, Failed<'a>)> = Vec::new();
        found.extend(attempts(&self.around.current).rev().map(|it| (5, it)));
        let children = self.around.children.frames.iter();
        let children = latest(children.filter(|child| attempts(child).next().is_some()));
        found.extend(
            children
                .into_iter()
                .flat_map(|child| attempts(child).rev().map(|it| (4, it))),
        );
        let mut unrelated = Vec::new();
        if self.around.current.parent.is_some() {
            let read = with_status(&self.around.siblings, Status::Failed).count();
            draft.total += self.around.place.failed.saturating_sub(read);
            let failed = failed_frames(&self.around.siblings);
            let ranked = self.ranked(latest(failed), |_, relevance| relevance.score);
            if let (false, Some(parent)) = (ranked.is_empty(), &self.around.current.parent) {
                draft.call = calls::results_below(parent);
            }
            found.extend(ranked.iter().map(|(_, frame)| (3, Failed::Frame(frame))));
            let akin = with_status(&self.around.siblings, Status::Completed);
            let tried = latest(akin).into_iter();
            let tried = tried.filter(|frame| attempts(frame).next().is_some());
            let (akin, others): (Vec<_>, Vec<_>) =
                tried.partition(|frame| self.relevance(frame).matches > 0);
            found.extend(
                akin.into_iter()
                    .flat_map(|frame| attempts(frame).rev().map(|it| (2, it))),
            );
            unrelated.extend(
                others
                    .into_iter()
                    .flat_map(|frame| attempts(frame).rev().map(|it| (0, it))),
            );
        }
        for ancestor in self.around.ancestors.iter().take(LEVELS) {
            found.extend(attempts(ancestor).rev().map(|it| (1, it)));
        }
        draft.relevant = found.len();
        found.append(&mut unrelated);
        draft.total += found.len();
        found.truncate(CANDIDATES);
        let worth = found.len();
        for (at, (group, failed)) in found.into_iter().enumerate() {
            let mut item = self.failed(failed);
            // Within a group the newest have the highest priority but are shown last.
            item.place = group * worth + (worth - at);
            draft.items.push(item);
        }
        draft
    }

    fn failed(&self, failed: Failed<'a>) -> Item<'a> {
        match failed {
            Failed::Frame(frame) => self.item(frame, Detail::Results),
            Failed::Attempt { frame, text, why } => {
                let mut element = ElementDraft::text("attempt", reasoned(text, why));
                element.attributes.push(("frame", frame.as_str().into()));
                let of = Some(frame);
                Item {
                    of,
                    ..Item::new(element, 0)
                }
            }
        }
    }

    fn children(&self) -> SectionDraft<'a> {
        let group = &self.around.children;
        let mut draft = self.draft(SectionKind::Children, "children's results");
        draft.total = group.total.max(group.frames.len());
        draft.call = calls::below(&self.around.current.id);
        let finished = |child: &&Frame| !child.status.is_open();
        let frames = latest(group.frames.iter().filter(finished));
        let count = frames.len();
        for (newest, frame) in frames.into_iter().enumerate() {
            let mut item = self.item(frame, Detail::Results);
            item.place = count - newest;
            draft.items.push(item);
        }
        draft
    }

    fn planned(&self, counter: TokenCounter<'_>) -> SectionDraft<'a> {
        let group = &self.around.planned;
        let mut draft = self.draft(SectionKind::Planned, "planned children");
        draft.total = group.total.max(group.frames.len());
        draft.least = LEAST_LINE;
        draft.call = calls::below(&self.around.current.id);
        let planned = with_status(&group.frames, Status::Planned).collect();
        let planned = first_by(planned, PLANNED, |frame| (frame.rank, &frame.id));
        for (place, frame) in planned.into_iter().enumerate() {
            let attributes = titled(frame, "frame", counter).attributes;
            let element = ElementDraft::empty("frame", attributes);
            draft.items.push(Item::new(element, place));
        }
        draft
    }

    fn current(&self) -> SectionDraft<'a> {
        let frame = &self.around.current;
        let mut draft = self.draft(SectionKind::Current, "current frame");
        draft.total = 1;
        draft.single = true;
        let mut item = self.item(frame, Detail::Everything);
        item.element.name = SectionKind::Current.tag();
        draft.items.push(item);
        draft
    }

    fn open(&self) -> SectionDraft<'a> {
        let group = &self.around.open;
        let mut draft = self.draft(SectionKind::Open, "open frames");
        draft.total = group.total.max(group.frames.len());
        draft.least = LEAST_LINE;
        let open = group.frames.iter().filter(|frame| frame.status.is_open());
        // Children first: the frame cannot be finished before them.
        let order = |frame: &'a Frame| (self.is_sibling(frame), frame.rank, &frame.id);
        let frames = first_by(open.collect(), CANDIDATES, order);
        if let (Some(parent), true) = (
            &self.around.current.parent,
            frames.iter().any(|frame| self.is_sibling(frame)),
        ) {
            draft.call = calls::below(parent);
        }
        for (place, frame) in frames.into_iter().enumerate() {
            let mut item = self.item(frame, Detail::Standing);
            let relation = if self.is_sibling(frame) {
                "sibling"
            } else {
                "child"
            };
            item.element.attributes.push(("is", relation.into()));
            item.place = place;
            draft.items.push(item);
        }
        draft
    }

    fn is_sibling(&self, frame: &Frame) -> bool {
        frame.parent.as_ref() != Some(&self.around.current.id)
    }

    fn subagents(&self, counter: TokenCounter<'_>) -> SectionDraft<'a> {
        let mut draft = self.draft(SectionKind::Subagents, "subagents");
        draft.provenance = Provenance::Tool;
        draft.least = LEAST_LINE;
        let mut subagents: Vec<_> = self.around.subagents.iter().collect();
        subagents.sort_by_key(|subagent| (subagent.seen, &subagent.session));
        draft.total = subagents.len();
        for (place, subagent) in subagents.into_iter().enumerate().rev().take(CANDIDATES) {
            let (title, cut) = short_title(subagent.title.as_str(), TITLE_TOKENS, counter);
            let mut attributes = vec![
                ("session", Cow::Owned(subagent.session.to_string())),
                ("title", title),
            ];
            attributes.extend(cut.then_some(("truncated", Cow::Borrowed("true"))));
            if let Some((state, started)) = subagent.state_and_start {
                attributes.push(("status", state.as_str().into()));
                attributes.push(("started", started.to_string().into()));
            }
            let frame = subagent.frame.as_ref();
            attributes.extend(frame.map(|frame| ("frame", frame.as_str().into())));
            let element = ElementDraft::empty("subagent", attributes);
            draft.items.push(Item::new(element, place));
        }
        draft
    }

    fn relevance(&self, frame: &Frame) -> Relevance {
        self.comparison.borrow_mut().with(frame)
    }

    /// Returns frames with their scores, best first; of equal scores the last finished first.
    fn ranked(
        &self,
        frames: Vec<&'a Frame>,
        score: impl Fn(&Frame, Relevance) -> i64,
    ) -> Vec<(i64, &'a Frame)> {
        let scored = frames
            .into_iter()
            .map(|frame| (score(frame, self.relevance(frame)), frame));
        let mut ranked: Vec<_> = scored.collect();
        ranked.sort_by_key(|(score, frame)| Reverse((*score, in_order(frame))));
        ranked
    }

    /// Adds frames, best first, to be shown in the order in which they ended. Those that are not
    /// relevant enough are shown only in spare room.
    fn put_ranked(&self, draft: &mut SectionDraft<'a>, ranked: Vec<(i64, &'a Frame)>) {
        draft.relevant = ranked.partition_point(|(score, _)| *score >= self.minimum);
        let mut by_end: Vec<&Frame> = ranked.iter().map(|(_, frame)| *frame).collect();
        by_end.sort_by_key(|frame| in_order(frame));
        for (_, frame) in ranked {
            let mut item = self.item(frame, Detail::Results);
            let place = by_end.binary_search_by_key(&in_order(frame), |other| in_order(other));
            item.place = place.unwrap_or_default();
            draft.items.push(item);
        }
    }

    fn item(&self, frame: &'a Frame, detail: Detail) -> Item<'a> {
        Item {
            of: Some(&frame.id),
            ..Item::new(describe(frame, detail), 0)
        }
    }
}

/// Returns the last finished frames, newest first, at most [`CANDIDATES`].
fn latest<'a>(frames: impl Iterator<Item = &'a Frame>) -> Vec<&'a Frame> {
    first_by(frames.collect(), CANDIDATES, |frame| {
        Reverse(in_order(frame))
    })
}

/// Returns the first few frames in some order, sorted. Sorting all of ten thousand would take most
/// of the time of an assembly.
fn first_by<'a, K: Ord>(
    mut frames: Vec<&'a Frame>,
    few: usize,
    key: impl Fn(&'a Frame) -> K,
) -> Vec<&'a Frame> {
    if frames.len() > few {
        frames.select_nth_unstable_by_key(few, |frame| key(frame));
        frames.truncate(few);
    }
    frames.sort_by_key(|frame| key(frame));
    frames
}
