//! One attempt at a context: divides the budget among the sections.

use crate::assemble::OUTER;
use crate::budget::{Budget, Claim, SMALLEST_TOTAL, share};
use crate::detail::titled;
use crate::draft::TokenCounter;
use crate::guidance::Guidance;
use crate::section_draft::{Measured, SectionDraft};
use crate::surroundings::Surroundings;
use crate::xml::Element;
use crate::{ContextSettings, Omission, OmissionReason, Provenance, Section, SectionKind, calls};
use flamestack_core::delivery::HeaderReason;

/// Tokens that the parent and the current frame get before the rest is divided.
const NEED: usize = 48;
/// Minimum number of left-over tokens that a section is rendered again for.
const LOAN: usize = 12;
/// Maximum length of a session's name in a context, in bytes.
const SESSION_BYTES: usize = 96;

pub(super) struct Attempt<'a> {
    pub(super) around: &'a Surroundings,
    pub(super) settings: &'a ContextSettings,
    pub(super) budget: Budget,
    pub(super) after: Option<HeaderReason>,
    pub(super) counter: TokenCounter<'a>,
}

/// The tokens granted to a section, and its claim to more.
struct Grant<'a, 's> {
    measured: Measured<'a, 's>,
    part: Part,
    claim: Claim,
    tokens: usize,
}

impl<'a, 's> Grant<'a, 's> {
    /// Grants a section what it cannot do without.
    fn new(measured: Measured<'a, 's>) -> Self {
        let tokens = match measured.kind() {
            SectionKind::Ancestors | SectionKind::Current => measured.needs(NEED),
            _ => 0,
        };
        let (part, weight) = Part::of(measured.kind());
        let wants = measured.wants().saturating_sub(tokens);
        Self {
            measured,
            part,
            claim: Claim { wants, weight },
            tokens,
        }
    }
}

impl<'a> Attempt<'a> {
    /// Returns the sections, their text and the sum of the tokens of its parts.
    pub(super) fn run<'r>(
        &self,
        drafts: &'r [SectionDraft<'_>],
    ) -> (Vec<Section<'r>>, String, usize)
    where
        'a: 'r,
    {
        let outer = self.outer();
        let (mut text, mut end) = (String::new(), String::new());
        outer.write_start(&mut text);
        outer.write_end(&mut end);
        let tags = self.counter.text(&text) + self.counter.text(&end);
        let guidance = self.guidance();
        let mut position = self.position();
        let fixed = [&guidance, &position].into_iter().flatten();
        let fixed: usize = fixed.map(|rendered| rendered.tokens).sum();
        let room = self.budget.total().saturating_sub(tags + fixed);
        let filled = self.fill_and_name(drafts, room, &mut position);
        let mut rendered: Vec<Section<'r>> = guidance.into_iter().collect();
        rendered.extend(filled);
        rendered.extend(position);
        let mut sum = tags;
        let bodies = rendered.iter().map(|rendered| rendered.body.len());
        text.reserve(bodies.sum::<usize>() + end.len());
        for section in &rendered {
            text.push_str(&section.body);
            sum += section.tokens;
        }
        text.push_str(&end);
        (rendered, text, sum)
    }

    /// Fills the room, and names after the position the sections that got none.
    fn fill_and_name<'r>(
        &self,
        drafts: &'r [SectionDraft<'_>],
        room: usize,
        position: &mut Option<Section<'a>>,
    ) -> Vec<Section<'r>> {
        let used = |filled: &[Section<'_>]| -> usize {
            filled.iter().map(|rendered| rendered.tokens).sum()
        };
        let mut filled = self.fill(drafts, room);
        if let Some((_, tokens)) = self.left_out(&filled)
            && used(&filled) + tokens > room
        {
            filled = self.fill(drafts, room.saturating_sub(tokens));
        }
        if let Some((element, tokens)) = self.left_out(&filled)
            && used(&filled) + tokens <= room
        {
            let last = position.get_or_insert_with(|| position_section(Vec::new()));
            element.write(&mut last.body);
            last.tokens += tokens;
            last.shown += 1;
            last.elements.push(element);
        }
        filled
    }

    fn outer(&self) -> Element<'a> {
        let mut outer = Element::new(OUTER);
        let session = self.around.session.as_ref().map(ToString::to_string);
        if let Some(session) = session.filter(|session| session.len() <= SESSION_BYTES)
            && self.budget.total() >= 2 * SMALLEST_TOTAL
        {
            outer = outer.with("session", session);
        }
        match self.after {
            None => outer,
            Some(reason @ HeaderReason::Resume) => outer.with("after", reason.as_str()),
            Some(reason @ HeaderReason::Compaction { count }) => outer
                .with("after", reason.as_str())
                .with("compactions", count.to_string())
                .with("log", calls::log(&self.around.current.id)),
        }
    }

    /// Divides the room among the parts of the budget, and that of a part among its sections.
    fn fill<'r>(&self, drafts: &'r [SectionDraft<'_>], room: usize) -> Vec<Section<'r>> {
        let measured = drafts.iter().map(|draft| draft.measure(room, self.counter));
        let mut grants: Vec<Grant<'_, 'r>> = measured.map(Grant::new).collect();
        // The parent and the current frame are served before anything is divided.
        let rest = room.saturating_sub(grants.iter().map(|grant| grant.tokens).sum());
        let parts = [
            (Part::Ancestors, self.budget.ancestors),
            (Part::Siblings, self.budget.siblings),
            (Part::Current, self.budget.current),
        ];
        let part_claims = parts.map(|(part, weight)| Claim {
            wants: grants
                .iter()
                .filter(|grant| grant.part == part)
                .map(|grant| grant.claim.wants)
                .sum(),
            // A part with a budget of 0 still gets what the others leave.
            weight: weight.max(1),
        });
        for ((part, _), part_room) in parts.into_iter().zip(share(rest, &part_claims)) {
            let mut within: Vec<&mut Grant<'_, 'r>> = grants
                .iter_mut()
                .filter(|grant| grant.part == part)
                .collect();
            let claims: Vec<Claim> = within.iter().map(|grant| grant.claim).collect();
            for (grant, more) in within.iter_mut().zip(share(part_room, &claims)) {
                grant.tokens += more;
            }
        }
        let mut filled: Vec<(&'r SectionDraft<'_>, Section<'r>)> = Vec::with_capacity(drafts.len());
        for (draft, grant) in drafts.iter().zip(grants) {
            let section = grant.measured.fill(grant.tokens, self.counter);
            filled.extend(section.map(|section| (draft, section)));
        }
        self.lend(&mut filled, room);
        filled.into_iter().map(|(_, section)| section).collect()
    }

    /// Gives the tokens that sections did not use to those that left something out, in order of
    /// [`priority`]. Irrelevant items come last: they are shown where nothing else wants the room.
    fn lend<'r>(&self, filled: &mut [(&'r SectionDraft<'_>, Section<'r>)], room: usize) {
        let used = filled.iter().map(|(_, rendered)| rendered.tokens);
        let mut left = room.saturating_sub(used.sum());
        let mut wanting: Vec<usize> = (0..filled.len()).collect();
        wanting.sort_by_key(|at| filled.get(*at).map(|(draft, _)| priority(draft.kind)));
        let rounds = [false, true];
        for (everything, at) in rounds
            .into_iter()
            .flat_map(|round| wanting.iter().map(move |at| (round, *at)))
        {
            let Some((draft, rendered)) = filled.get_mut(at) else {
                continue;
            };
            let mut omitted = rendered.omitted.iter();
            let wants_more = if everything {
                draft.has_irrelevant()
            } else {
                omitted.any(|omission| omission.why == OmissionReason::Budget)
            };
            if left < LOAN || !wants_more {
                continue;
            }
            let before = rendered.tokens;
            let more = if everything {
                draft.measure_all(before + left, self.counter)
            } else {
                draft.measure(before + left, self.counter)
            };
            if let Some(more) = more.fill(before + left, self.counter)
                && more.tokens > before
            {
                left -= more.tokens - before;
                *rendered = more;
            }
        }
    }

    /// Names the sections that got no room at all.
    fn left_out(&self, rendered: &[Section<'_>]) -> Option<(Element<'static>, usize)> {
        let gone = rendered.iter().filter(|rendered| rendered.body.is_empty());
        let gone = gone.flat_map(|rendered| &rendered.omitted);
        let named = gone.map(|omission| format!("{} {}", omission.count, omission.what));
        let named = named.collect::<Vec<_>>().join(", ");
        if named.is_empty() {
            return None;
        }
        let call = calls::table(&self.around.current.id);
        let element = Element::text("left-out", named).with("show", call);
        let tokens = self.counter.element(&element);
        Some((element, tokens))
    }

    /// Renders the guidance of the settings, or less of it if the budget is small.
    fn guidance(&self) -> Option<Section<'static>> {
        let (budget, total) = (self.budget, self.budget.total());
        let parts = budget.ancestors + budget.siblings + budget.current + budget.overhead;
        let limit = (budget.overhead * total / parts.max(total).max(1)).max(total / 8);
        let unplanned = self.around.current.parent.is_none() && self.around.planned.total == 0;
        let asked = self.settings.guidance;
        let mut level = asked;
        while level != Guidance::Off {
            let measured = self.counter.measure(level.element(unplanned)?, false);
            if measured.tokens <= limit {
                let omission = Omission {
                    what: format!("{} guidance", asked.as_str()),
                    count: 1,
                    why: OmissionReason::Budget,
                    call: "flame context --budget N".to_owned(),
                };
                let omitted = (level < asked).then_some(omission).into_iter().collect();
                return Some(Section {
                    kind: SectionKind::Guidance,
                    provenance: Provenance::Stack,
                    tokens: measured.tokens,
                    shown: 1,
                    omitted,
                    body: measured.text,
                    elements: vec![measured.element],
                });
            }
            level = level.less();
        }
        None
    }

    /// Renders the position among siblings. Its counters change most often, so it comes last.
    fn position(&self) -> Option<Section<'a>> {
        let place = self.around.place;
        if place.of < 2 {
            return None;
        }
        let task = format!("Task {} of {}", place.position, place.of);
        let mut elements = vec![Element::text("position", task)];
        let counts = [
            ("completed", place.completed),
            ("failed", place.failed),
            ("in-progress", place.in_progress),
            ("blocked", place.blocked),
            ("pending", place.planned),
        ];
        let some = counts.into_iter().filter(|(_, count)| *count > 0);
        let status = some.fold(Element::new("sibling-status"), |status, (name, count)| {
            status.with(name, count.to_string())
        });
        elements.extend(Some(status).filter(|status| !status.attributes.is_empty()));
        let next = self.around.next.as_ref();
        elements.extend(next.map(|next| titled(next, "next-sibling", self.counter)));
        let mut section = position_section(elements);
        section.tokens = self.counter.text(&section.body);
        (section.tokens <= self.budget.total() / 4).then_some(section)
    }
}

/// Returns the section of the position, not yet counted.
fn position_section(elements: Vec<Element<'_>>) -> Section<'_> {
    let mut body = String::new();
    for element in &elements {
        element.write(&mut body);
    }
    Section {
        kind: SectionKind::Position,
        provenance: Provenance::Stack,
        tokens: 0,
        shown: elements.len(),
        omitted: Vec::new(),
        body,
        elements,
    }
}

/// Returns the order in which sections get left-over tokens.
fn priority(kind: SectionKind) -> usize {
    match kind {
        SectionKind::Current => 0,
        SectionKind::Ancestors => 1,
        SectionKind::Directives => 2,
        SectionKind::Children => 3,
        SectionKind::Open | SectionKind::Subagents => 4,
        SectionKind::Planned => 5,
        SectionKind::FailedAttempts => 6,
        SectionKind::Siblings => 7,
        SectionKind::Guidance
        | SectionKind::Uncles
        | SectionKind::Position
        | SectionKind::Update => 8,
    }
}

/// Part of a budget.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Ancestors,
    Siblings,
    Current,
}

impl Part {
    /// Returns the part that pays for a section, and the section's weight in it.
    fn of(kind: SectionKind) -> (Self, usize) {
        match kind {
            SectionKind::Ancestors => (Self::Ancestors, 1),
            SectionKind::Siblings => (Self::Siblings, 3),
            SectionKind::FailedAttempts => (Self::Siblings, 2),
            SectionKind::Uncles => (Self::Siblings, 1),
            SectionKind::Children | SectionKind::Current => (Self::Current, 4),
            SectionKind::Directives => (Self::Current, 3),
            SectionKind::Guidance
            | SectionKind::Planned
            | SectionKind::Open
            | SectionKind::Subagents
            | SectionKind::Position
            | SectionKind::Update => (Self::Current, 1),
        }
    }
}
