//! One attempt at a context: the room there is, divided among all who want it.

use crate::context::assemble::OUTER;
use crate::context::budget::{Budget, Claim, SMALLEST_TOTAL, share};
use crate::context::delivery::Reason;
use crate::context::draft::Meter;
use crate::context::guidance::Guidance;
use crate::context::roster::{Drawn, Measured, Roster};
use crate::context::surroundings::Surroundings;
use crate::context::telling::titled;
use crate::context::{Omission, Provenance, Section, SectionKind, Settings, Why};
use crate::xml::Element;

/// What the parent and the current frame get however little there is.
const NEED: usize = 48;
/// Less than this is not worth making a section again for.
const LOAN: usize = 12;
/// A session's name is told if it is no longer than this.
const SESSION_BYTES: usize = 96;

pub(super) struct Attempt<'a> {
    pub(super) around: &'a Surroundings,
    pub(super) settings: &'a Settings,
    pub(super) budget: Budget,
    pub(super) after: Option<Reason>,
    pub(super) meter: Meter<'a>,
}

impl<'a> Attempt<'a> {
    /// The sections, their text and the sum of the tokens of its parts.
    pub(super) fn run<'r>(&self, rosters: &'r [Roster<'_>]) -> (Vec<Drawn<'r>>, String, usize)
    where
        'a: 'r,
    {
        let outer = self.outer();
        let (mut text, mut end) = (String::new(), String::new());
        outer.write_start(&mut text);
        outer.write_end(&mut end);
        let tags = self.meter.text(&text) + self.meter.text(&end);
        let guidance = self.guidance();
        let mut position = self.position();
        let fixed = [&guidance, &position].into_iter().flatten();
        let fixed: usize = fixed.map(|drawn| drawn.section.tokens).sum();
        let room = self.budget.total().saturating_sub(tags + fixed);
        let filled = self.fill_and_name(rosters, room, &mut position);
        let mut drawn: Vec<Drawn<'r>> = guidance.into_iter().collect();
        drawn.extend(filled);
        drawn.extend(position);
        let mut sum = tags;
        let bodies = drawn.iter().map(|drawn| drawn.section.body.len());
        text.reserve(bodies.sum::<usize>() + end.len());
        for Drawn { section, .. } in &drawn {
            text.push_str(&section.body);
            sum += section.tokens;
        }
        text.push_str(&end);
        (drawn, text, sum)
    }

    /// Fills the room, and names behind the position what there was no room to say anything of.
    fn fill_and_name<'r>(
        &self,
        rosters: &'r [Roster<'_>],
        room: usize,
        position: &mut Option<Drawn<'a>>,
    ) -> Vec<Drawn<'r>> {
        let used = |filled: &[Drawn<'_>]| -> usize {
            filled.iter().map(|drawn| drawn.section.tokens).sum()
        };
        let mut filled = self.fill(rosters, room);
        if let Some((_, tokens)) = self.left_out(&filled)
            && used(&filled) + tokens > room
        {
            filled = self.fill(rosters, room.saturating_sub(tokens));
        }
        if let Some((element, tokens)) = self.left_out(&filled)
            && used(&filled) + tokens <= room
        {
            let last = position.get_or_insert_with(|| Drawn {
                section: placed(0, 0, String::new()),
                elements: Vec::new(),
            });
            element.write(&mut last.section.body);
            last.section.tokens += tokens;
            last.section.shown += 1;
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
            Some(reason @ Reason::Resume) => outer.with("after", reason.as_str()),
            Some(reason @ Reason::Compaction { count }) => outer
                .with("after", reason.as_str())
                .with("compactions", count.to_string())
                .with("log", self.settings.calls.log(&self.around.current.id)),
        }
    }

    /// Divides the room among parts, and what a part gets among its sections.
    fn fill<'r>(&self, rosters: &'r [Roster<'_>], room: usize) -> Vec<Drawn<'r>> {
        let measured = rosters
            .iter()
            .map(|roster| roster.measure(room, self.meter));
        let measured: Vec<Measured<'_, 'r>> = measured.collect();
        // Parent and current frame are there before anything is divided.
        let needs = measured.iter().map(|roster| match roster.kind() {
            SectionKind::Ancestors | SectionKind::Current => roster.needs(NEED),
            _ => 0,
        });
        let needs: Vec<usize> = needs.collect();
        let rest = room.saturating_sub(needs.iter().sum());
        let claims: Vec<(Part, Claim)> = measured
            .iter()
            .zip(&needs)
            .map(|(roster, needs)| {
                let (part, weight) = Part::of(roster.kind());
                let wants = roster.wants().saturating_sub(*needs);
                (part, Claim { wants, weight })
            })
            .collect();
        let of_part = |part: Part| claims.iter().filter(move |(of, _)| *of == part);
        let parts = [
            (Part::Ancestors, self.budget.ancestors()),
            (Part::Siblings, self.budget.siblings()),
            (Part::Current, self.budget.current()),
        ];
        let part_claims = parts.map(|(part, weight)| Claim {
            wants: of_part(part).map(|(_, claim)| claim.wants).sum(),
            // A part that has nothing of its own still gets what the others leave.
            weight: weight.max(1),
        });
        let part_rooms = share(rest, &part_claims);
        let mut shares: Vec<(Part, std::vec::IntoIter<usize>)> = Vec::new();
        for ((part, _), room) in parts.into_iter().zip(part_rooms) {
            let claims: Vec<Claim> = of_part(part).map(|(_, claim)| *claim).collect();
            shares.push((part, share(room, &claims).into_iter()));
        }
        let mut next_share = |part: Part| {
            let of_part = shares.iter_mut().find(|(of, _)| *of == part);
            of_part.and_then(|(_, shares)| shares.next()).unwrap_or(0)
        };
        let granted = needs.iter().zip(&claims);
        let granted: Vec<usize> = granted
            .map(|(needs, (part, _))| needs + next_share(*part))
            .collect();
        let mut filled: Vec<(&'r Roster<'_>, Drawn<'r>)> = Vec::with_capacity(rosters.len());
        for ((roster, measured), granted) in rosters.iter().zip(measured).zip(granted) {
            let drawn = measured.fill(granted, self.meter);
            filled.extend(drawn.map(|drawn| (roster, drawn)));
        }
        self.lend(&mut filled, room);
        filled.into_iter().map(|(_, drawn)| drawn).collect()
    }

    /// What sections were granted and could not use goes to those that had to leave something out,
    /// the nearest to the work at hand first.
    fn lend<'r>(&self, filled: &mut [(&'r Roster<'_>, Drawn<'r>)], room: usize) {
        let used = filled.iter().map(|(_, drawn)| drawn.section.tokens);
        let mut left = room.saturating_sub(used.sum());
        let mut wanting: Vec<usize> = (0..filled.len()).collect();
        wanting.sort_by_key(|at| filled.get(*at).map(|(roster, _)| turn(roster.kind)));
        for at in wanting {
            let Some((roster, drawn)) = filled.get_mut(at) else {
                continue;
            };
            let omitted = &drawn.section.omitted;
            if left < LOAN || !omitted.iter().any(|omission| omission.why == Why::Budget) {
                continue;
            }
            let before = drawn.section.tokens;
            let more = roster.measure(before + left, self.meter);
            if let Some(more) = more.fill(before + left, self.meter)
                && more.section.tokens > before
            {
                left -= more.section.tokens - before;
                *drawn = more;
            }
        }
    }

    /// Says what there was no room to say anything of, if there is room for that.
    fn left_out(&self, drawn: &[Drawn<'_>]) -> Option<(Element<'static>, usize)> {
        let gone = drawn.iter().filter(|drawn| drawn.section.body.is_empty());
        let gone = gone.flat_map(|drawn| &drawn.section.omitted);
        let named = gone.map(|omission| format!("{} {}", omission.count, omission.what));
        let named = named.collect::<Vec<_>>().join(", ");
        if named.is_empty() {
            return None;
        }
        let call = self.settings.calls.table(&self.around.current.id);
        let element = Element::text("left-out", named).with("show", call);
        let tokens = self.meter.element(&element);
        Some((element, tokens))
    }

    /// The guidance that was asked for, or less of it where the budget is small.
    fn guidance(&self) -> Option<Drawn<'static>> {
        let (budget, total) = (self.budget, self.budget.total());
        let parts = budget.ancestors() + budget.siblings() + budget.current() + budget.overhead();
        let limit = (budget.overhead() * total / parts.max(total).max(1)).max(total / 8);
        let unplanned = self.around.current.parent.is_none() && self.around.planned.total == 0;
        let asked = self.settings.guidance;
        let mut level = asked;
        while level != Guidance::Off {
            let piece = self.meter.piece(level.element(unplanned)?, false);
            if piece.tokens <= limit {
                let omission = Omission {
                    what: format!("{} guidance", asked.as_str()),
                    count: 1,
                    why: Why::Budget,
                    call: "flame context --budget N".to_owned(),
                };
                let omitted = (level < asked).then_some(omission).into_iter().collect();
                return Some(Drawn {
                    section: Section {
                        kind: SectionKind::Guidance,
                        provenance: Provenance::Stack,
                        tokens: piece.tokens,
                        shown: 1,
                        omitted,
                        body: piece.text,
                    },
                    elements: vec![piece.element],
                });
            }
            level = level.less();
        }
        None
    }

    /// Counters change most often, so they come last.
    fn position(&self) -> Option<Drawn<'a>> {
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
        elements.extend(next.map(|next| titled(next, "next-sibling", self.meter)));
        let mut body = String::new();
        for element in &elements {
            element.write(&mut body);
        }
        let tokens = self.meter.text(&body);
        let section = placed(tokens, elements.len(), body);
        (tokens <= self.budget.total() / 4).then_some(Drawn { section, elements })
    }
}

/// The section that says where the frame stands.
fn placed(tokens: usize, shown: usize, body: String) -> Section {
    Section {
        kind: SectionKind::Position,
        provenance: Provenance::Stack,
        tokens,
        shown,
        omitted: Vec::new(),
        body,
    }
}

/// Whose turn it is when room is left over.
fn turn(kind: SectionKind) -> usize {
    match kind {
        SectionKind::Current => 0,
        SectionKind::Ancestors => 1,
        SectionKind::Directives => 2,
        SectionKind::Children => 3,
        SectionKind::Open | SectionKind::Subagents => 4,
        SectionKind::Planned => 5,
        SectionKind::FailedAttempts => 6,
        SectionKind::Siblings => 7,
        _ => 8,
    }
}

/// The parts of a budget.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Ancestors,
    Siblings,
    Current,
}

impl Part {
    /// Which part pays for a section, and how much of a shortage the section may keep in it.
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
