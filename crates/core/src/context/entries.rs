//! What goes onto each roster, and in which order of worth.

use std::borrow::Cow;
use std::cell::RefCell;
use std::cmp::Reverse;

use crate::context::draft::{Draft, Inside, Meter, short_title};
use crate::context::frontier::{Failed, attempts, in_order};
use crate::context::relevance::{Comparison, Interest, Relevance, ancestor_score};
use crate::context::roster::{Candidate, Roster};
use crate::context::surroundings::{
    CANDIDATES, DIRECTIVES, Directive, LEVELS, PLANNED, Surroundings,
};
use crate::context::telling::{TITLE_TOKENS, Telling, reasoned, tell, titled};
use crate::context::{Calls, Provenance, SectionKind, Settings};
use crate::frame::{Frame, Status};

/// A frame that gets fewer tokens than this tells too little to be worth showing.
const LEAST_FRAME: usize = 64;
/// The same for one line of text.
const LEAST_LINE: usize = 24;

/// Everything that might be shown, roster by roster in the order in which it is.
pub(super) fn rosters<'a>(
    around: &'a Surroundings,
    settings: &Settings,
    meter: Meter<'_>,
) -> Vec<Roster<'a>> {
    let interest = if around.siblings.is_empty() && around.uncles.frames.is_empty() {
        Interest::default()
    } else {
        Interest::of(&around.current)
    };
    let library = Library {
        around,
        calls: settings.calls,
        comparison: RefCell::new(interest.comparison()),
        minimum: settings.minimum_relevance,
    };
    vec![
        library.ancestors(settings.max_ancestors),
        library.directives(),
        library.uncles(),
        library.siblings(settings.max_siblings),
        library.failed_attempts(),
        library.children(),
        library.planned(meter),
        library.current(),
        library.open(),
        library.subagents(meter),
    ]
}

struct Library<'a, 'i> {
    around: &'a Surroundings,
    calls: Calls,
    /// One for all, since it remembers the words that it has met.
    comparison: RefCell<Comparison<'i>>,
    minimum: i64,
}

impl<'a> Library<'a, '_> {
    fn roster(&self, kind: SectionKind, what: &'static str) -> Roster<'a> {
        Roster {
            kind,
            provenance: Provenance::Model,
            candidates: Vec::new(),
            total: 0,
            over_limit: 0,
            irrelevant: 0,
            least: LEAST_FRAME,
            what,
            call: self.calls.details(&self.around.current.id),
            calls: self.calls,
            single: false,
        }
    }

    fn ancestors(&self, max: Option<usize>) -> Roster<'a> {
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
        let mut roster = self.roster(SectionKind::Ancestors, "ancestors");
        roster.total = levels;
        roster.over_limit = levels.saturating_sub(allowed);
        for (_, depth, frame) in ranked {
            let mut candidate = self.candidate(frame, Telling::Goal);
            // Root first.
            candidate.place = usize::MAX - depth;
            candidate.weight = if depth == 0 { 3 } else { 1 };
            roster.candidates.push(candidate);
        }
        roster
    }

    fn directives(&self) -> Roster<'a> {
        let mut all: Vec<_> = self.around.directives.iter().collect();
        all.sort_by_key(|directive| directive.said);
        let mut roster = self.roster(SectionKind::Directives, "user directives");
        roster.provenance = Provenance::User;
        roster.total = all.len();
        roster.least = LEAST_LINE;
        if let Some(first) = all.first() {
            roster.call = self.calls.details(&first.frame);
        }
        // What somebody set down beside the conversation is meant to last, and the first thing said
        // is what all the rest is about. Of the rest the newest count most.
        let worth = |(place, directive): &(usize, &Directive)| {
            (!directive.session.is_shell(), *place != 0, Reverse(*place))
        };
        let mut ranked: Vec<(usize, &Directive)> = all.into_iter().enumerate().collect();
        ranked.sort_by_key(worth);
        for (place, directive) in ranked.into_iter().take(DIRECTIVES) {
            roster.candidates.push(Candidate {
                draft: Draft {
                    name: "directive",
                    attributes: Vec::new(),
                    inside: Inside::Text(directive.text.as_str().into()),
                },
                place,
                weight: 1,
                of: None,
            });
        }
        roster
    }

    fn uncles(&self) -> Roster<'a> {
        let mut roster = self.roster(SectionKind::Uncles, "uncles");
        // A root has none; its neighbours are other tasks.
        let Some(parent) = self.around.ancestors.first() else {
            return roster;
        };
        roster.total = self
            .around
            .uncles
            .total
            .max(self.around.uncles.frames.len());
        if let Some(grandparent) = &parent.parent {
            roster.call = self.calls.below(grandparent);
        }
        let far = |uncle: &Frame| {
            let known = self.around.ancestors.iter();
            let mut levels = known.take(LEVELS).map(|ancestor| &ancestor.parent);
            let level = levels.position(|above| *above == uncle.parent);
            i64::try_from(level.unwrap_or(LEVELS)).unwrap_or(0)
        };
        let completed = latest(self.around.uncles.frames.iter());
        // Relatives farther away have less to do with the task at hand.
        let ranked = self.ranked(completed, |frame, relevance| {
            relevance.score - 16 * far(frame)
        });
        self.put_ranked(&mut roster, ranked);
        roster
    }

    fn siblings(&self, max: Option<usize>) -> Roster<'a> {
        let mut roster = self.roster(SectionKind::Siblings, "completed siblings");
        let Some(parent) = &self.around.current.parent else {
            return roster;
        };
        let completed = with_status(&self.around.siblings, Status::Completed);
        roster.total = self.around.place.completed.max(completed.clone().count());
        roster.call = self.calls.below(parent);
        let mut ranked = self.ranked(latest(completed), |_, relevance| relevance.score);
        let allowed = max.unwrap_or(usize::MAX);
        roster.over_limit = roster.total.saturating_sub(allowed);
        ranked.truncate(allowed);
        self.put_ranked(&mut roster, ranked);
        roster
    }

    /// Attempts made here, then frames that failed beside us, then attempts made above us and by
    /// finished siblings whose goal is akin to ours.
    fn failed_attempts(&self) -> Roster<'a> {
        let mut roster = self.roster(SectionKind::FailedAttempts, "failed attempts");
        roster.least = LEAST_LINE;
        let mut found: Vec<(usize, Failed<'a>)> = Vec::new();
        found.extend(attempts(&self.around.current).rev().map(|it| (3, it)));
        if self.around.current.parent.is_some() {
            let failed = with_status(&self.around.siblings, Status::Failed);
            roster.total += self
                .around
                .place
                .failed
                .saturating_sub(failed.clone().count());
            let ranked = self.ranked(latest(failed), |_, relevance| relevance.score);
            if let (false, Some(parent)) = (ranked.is_empty(), &self.around.current.parent) {
                roster.call = self.calls.below(parent);
            }
            found.extend(ranked.iter().map(|(_, frame)| (2, Failed::Frame(frame))));
            let akin = with_status(&self.around.siblings, Status::Completed);
            let akin = latest(akin).into_iter().filter(|frame| {
                attempts(frame).next().is_some() && self.relevance(frame).matches > 0
            });
            found.extend(akin.flat_map(|frame| attempts(frame).rev().map(|it| (1, it))));
        }
        for ancestor in self.around.ancestors.iter().take(LEVELS) {
            found.extend(attempts(ancestor).rev().map(|it| (0, it)));
        }
        roster.total += found.len();
        found.truncate(CANDIDATES);
        let worth = found.len();
        for (at, (group, failed)) in found.into_iter().enumerate() {
            let mut candidate = self.failed(failed);
            // Within a group the newest come first in worth and last to the eye.
            candidate.place = group * worth + (worth - at);
            roster.candidates.push(candidate);
        }
        roster
    }

    fn failed(&self, failed: Failed<'a>) -> Candidate<'a> {
        match failed {
            Failed::Frame(frame) => self.candidate(frame, Telling::Results),
            Failed::Attempt { frame, text, why } => Candidate {
                draft: Draft {
                    name: "attempt",
                    attributes: vec![("frame", frame.as_str().into())],
                    inside: Inside::Text(reasoned(text, why)),
                },
                place: 0,
                weight: 1,
                of: Some(frame),
            },
        }
    }

    fn children(&self) -> Roster<'a> {
        let group = &self.around.children;
        let mut roster = self.roster(SectionKind::Children, "children's results");
        roster.total = group.total.max(group.frames.len());
        roster.call = self.calls.below(&self.around.current.id);
        let finished = |child: &&Frame| !child.status.is_open();
        let frames = latest(group.frames.iter().filter(finished));
        let count = frames.len();
        for (newest, frame) in frames.into_iter().enumerate() {
            let mut candidate = self.candidate(frame, Telling::Results);
            candidate.place = count - newest;
            roster.candidates.push(candidate);
        }
        roster
    }

    fn planned(&self, meter: Meter<'_>) -> Roster<'a> {
        let group = &self.around.planned;
        let mut roster = self.roster(SectionKind::Planned, "planned children");
        roster.total = group.total.max(group.frames.len());
        roster.least = LEAST_LINE;
        roster.call = self.calls.below(&self.around.current.id);
        let planned = with_status(&group.frames, Status::Planned).collect();
        let planned = first_by(planned, PLANNED, |frame| (frame.rank, &frame.id));
        for (place, frame) in planned.into_iter().enumerate() {
            roster.candidates.push(Candidate {
                draft: Draft {
                    name: "frame",
                    attributes: titled(frame, "frame", meter).attributes,
                    inside: Inside::Nothing,
                },
                place,
                weight: 1,
                of: None,
            });
        }
        roster
    }

    fn current(&self) -> Roster<'a> {
        let frame = &self.around.current;
        let mut roster = self.roster(SectionKind::Current, "current frame");
        roster.total = 1;
        roster.single = true;
        let mut candidate = self.candidate(frame, Telling::Everything);
        candidate.draft.name = SectionKind::Current.tag();
        roster.candidates.push(candidate);
        roster
    }

    fn open(&self) -> Roster<'a> {
        let group = &self.around.open;
        let mut roster = self.roster(SectionKind::Open, "open frames");
        roster.total = group.total.max(group.frames.len());
        roster.least = LEAST_LINE;
        let open = group.frames.iter().filter(|frame| frame.status.is_open());
        // Our own children first: they keep us from being done.
        let order = |frame: &'a Frame| (self.is_sibling(frame), frame.rank, &frame.id);
        let frames = first_by(open.collect(), CANDIDATES, order);
        if let (Some(parent), true) = (
            &self.around.current.parent,
            frames.iter().any(|frame| self.is_sibling(frame)),
        ) {
            roster.call = self.calls.below(parent);
        }
        for (place, frame) in frames.into_iter().enumerate() {
            let mut candidate = self.candidate(frame, Telling::Standing);
            let kin = if self.is_sibling(frame) {
                "sibling"
            } else {
                "child"
            };
            candidate.draft.attributes.push(("is", kin.into()));
            candidate.place = place;
            roster.candidates.push(candidate);
        }
        roster
    }

    fn is_sibling(&self, frame: &Frame) -> bool {
        frame.parent.as_ref() != Some(&self.around.current.id)
    }

    fn subagents(&self, meter: Meter<'_>) -> Roster<'a> {
        let mut roster = self.roster(SectionKind::Subagents, "subagents");
        roster.provenance = Provenance::Tool;
        roster.least = LEAST_LINE;
        let mut subagents: Vec<_> = self.around.subagents.iter().collect();
        subagents.sort_by_key(|subagent| (subagent.seen, &subagent.session));
        roster.total = subagents.len();
        for (place, subagent) in subagents.into_iter().enumerate().rev().take(CANDIDATES) {
            let (title, cut) = short_title(subagent.title.as_str(), TITLE_TOKENS, meter);
            let mut attributes = vec![
                ("session", Cow::Owned(subagent.session.to_string())),
                ("title", title),
            ];
            attributes.extend(cut.then_some(("truncated", Cow::Borrowed("true"))));
            if let Some((state, started)) = subagent.standing {
                attributes.push(("status", state.as_str().into()));
                attributes.push(("started", started.to_string().into()));
            }
            let frame = subagent.frame.as_ref();
            attributes.extend(frame.map(|frame| ("frame", frame.as_str().into())));
            roster.candidates.push(Candidate {
                draft: Draft {
                    name: "subagent",
                    attributes,
                    inside: Inside::Nothing,
                },
                place,
                weight: 1,
                of: None,
            });
        }
        roster
    }

    fn relevance(&self, frame: &Frame) -> Relevance {
        self.comparison.borrow_mut().with(frame)
    }

    /// Frames with their scores, best first. What breaks a tie is which was finished last.
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

    /// Puts those that are relevant enough on the list, to be shown in the order of their end.
    fn put_ranked(&self, roster: &mut Roster<'a>, mut ranked: Vec<(i64, &'a Frame)>) {
        let before = ranked.len();
        ranked.retain(|(score, _)| *score >= self.minimum);
        roster.irrelevant = before - ranked.len();
        let mut by_end: Vec<&Frame> = ranked.iter().map(|(_, frame)| *frame).collect();
        by_end.sort_by_key(|frame| in_order(frame));
        for (_, frame) in ranked {
            let mut candidate = self.candidate(frame, Telling::Results);
            let place = by_end.binary_search_by_key(&in_order(frame), |other| in_order(other));
            candidate.place = place.unwrap_or_default();
            roster.candidates.push(candidate);
        }
    }

    fn candidate(&self, frame: &'a Frame, telling: Telling) -> Candidate<'a> {
        Candidate {
            draft: tell(frame, telling, self.calls),
            place: 0,
            weight: 1,
            of: Some(&frame.id),
        }
    }
}

fn with_status(frames: &[Frame], status: Status) -> impl Iterator<Item = &Frame> + Clone {
    frames.iter().filter(move |frame| frame.status == status)
}

/// The frames that were finished last, newest first, no more than are ever looked at.
fn latest<'a>(frames: impl Iterator<Item = &'a Frame>) -> Vec<&'a Frame> {
    first_by(frames.collect(), CANDIDATES, |frame| {
        Reverse(in_order(frame))
    })
}

/// The first few frames in some order, in that order; sorting all of ten thousand would take most
/// of the time there is.
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
