//! From surroundings to a context that keeps its budget.

use crate::context::budget::{Budget, Claim, SMALLEST_TOTAL, share};
use crate::context::delivery::Reason;
use crate::context::draft::Meter;
use crate::context::entries::rosters;
use crate::context::guidance::Guidance;
use crate::context::roster::{Measured, Roster};
use crate::context::surroundings::Surroundings;
use crate::context::telling::titled;
use crate::context::{Context, Omission, Provenance, Section, SectionKind, Settings, Why};
use crate::frame::Frame;
use crate::tokens::Tokenizer;
use crate::xml::{Content, Element};

/// What the parent and the current frame get however little there is.
const NEED: usize = 48;
/// The element around everything.
const OUTER: &str = "stack-context";
/// A session's name is told if it is no longer than this.
const SESSION_BYTES: usize = 96;

/// Makes the context of a frame.
///
/// The text has at most `settings.budget.total()` tokens by the given tokenizer, is well-formed
/// XML, and shows the parent and the current frame, however long or strange the texts in it are.
/// It is empty where there is nothing to tell.
pub fn assemble(around: &Surroundings, settings: &Settings, tokenizer: &dyn Tokenizer) -> Context {
    if !around.has_something_to_tell() {
        return Context {
            sections: Vec::new(),
            text: String::new(),
            tokens: 0,
            budget: settings.budget,
            tokenizer: tokenizer.name(),
            position: around.position,
        };
    }
    kept_within(around, settings, tokenizer, None)
}

/// The same for a conversation that has lost its history, so that even the least is worth telling.
pub(super) fn assemble_after(
    around: &Surroundings,
    settings: &Settings,
    tokenizer: &dyn Tokenizer,
    reason: Reason,
) -> Context {
    kept_within(around, settings, tokenizer, Some(reason))
}

fn kept_within(
    around: &Surroundings,
    settings: &Settings,
    tokenizer: &dyn Tokenizer,
    after: Option<Reason>,
) -> Context {
    let meter = Meter { tokenizer };
    let rosters = rosters(around, settings, meter);
    let total = settings.budget.total();
    let mut budget = settings.budget;
    let finished = |sections, text, tokens| Context {
        sections,
        text,
        tokens,
        budget: settings.budget,
        tokenizer: tokenizer.name(),
        position: around.position,
    };
    // Counts of lines add up with the tokenizers we know, and the first try fits. For others the
    // law is kept by looking: what counts is the number of tokens in the final bytes.
    for _ in 0..4 {
        let attempt = Attempt {
            around,
            settings,
            budget,
            after,
            meter,
        };
        let (sections, text) = attempt.run(&rosters);
        let tokens = tokenizer.count(&text);
        if tokens <= total && says_where(around, &sections) {
            return finished(sections, text, tokens);
        }
        budget = budget.reduced_by((tokens + 1).saturating_sub(total).max(1));
    }
    let text = skeleton(around);
    let tokens = tokenizer.count(&text);
    finished(Vec::new(), text, tokens)
}

struct Attempt<'a> {
    around: &'a Surroundings,
    settings: &'a Settings,
    budget: Budget,
    after: Option<Reason>,
    meter: Meter<'a>,
}

impl Attempt<'_> {
    fn run(&self, rosters: &[Roster<'_>]) -> (Vec<Section>, String) {
        let outer = self.outer();
        let (mut text, mut end) = (String::new(), String::new());
        outer.write_start(&mut text);
        outer.write_end(&mut end);
        let guidance = self.guidance();
        let position = self.position();
        let fixed = self.meter.text(&text)
            + self.meter.text(&end)
            + guidance.as_ref().map_or(0, |section| section.tokens)
            + position.as_ref().map_or(0, |section| section.tokens);
        let room = self.budget.total().saturating_sub(fixed);
        let mut sections: Vec<Section> = guidance.into_iter().collect();
        sections.extend(self.fill(rosters, room));
        sections.extend(position);
        for section in &sections {
            text.push_str(&section.body);
        }
        text.push_str(&end);
        (sections, text)
    }

    fn outer(&self) -> Element {
        let mut outer = Element::new(OUTER);
        let session = self.around.session.as_ref().map(ToString::to_string);
        if let Some(session) = session.filter(|session| session.len() <= SESSION_BYTES)
            && self.budget.total() >= 2 * SMALLEST_TOTAL
        {
            outer = outer.with("session", session);
        }
        match self.after {
            None => outer,
            Some(Reason::Resume) => outer.with("after", "resume"),
            Some(Reason::Compaction { count }) => outer
                .with("after", "compaction")
                .with("compactions", count.to_string())
                .with("log", self.settings.calls.log(&self.around.current.id)),
        }
    }

    /// Divides the room among parts, and what a part gets among its sections.
    fn fill(&self, rosters: &[Roster<'_>], room: usize) -> Vec<Section> {
        let measured: Vec<Measured<'_, '_>> = rosters
            .iter()
            .map(|roster| roster.measure(room, self.meter))
            .collect();
        // Parent and current frame are there before anything is divided.
        let needs: Vec<usize> = measured
            .iter()
            .map(|roster| match roster.kind() {
                SectionKind::Ancestors | SectionKind::Current => roster.needs(NEED),
                _ => 0,
            })
            .collect();
        let rest = room.saturating_sub(needs.iter().sum());
        let wants = |at: usize| -> usize {
            let wants = measured.get(at).map_or(0, Measured::wants);
            wants.saturating_sub(needs.get(at).copied().unwrap_or(0))
        };
        let places = |part: Part| {
            let of_part = move |roster: &Measured<'_, '_>| Part::of(roster.kind()).0 == part;
            let places = measured.iter().enumerate();
            places
                .filter(move |(_, roster)| of_part(roster))
                .map(|(at, _)| at)
        };
        let parts = [
            (Part::Ancestors, self.budget.ancestors()),
            (Part::Siblings, self.budget.siblings()),
            (Part::Current, self.budget.current()),
        ];
        let part_claims = parts.map(|(part, weight)| Claim {
            wants: places(part).map(wants).sum(),
            weight,
        });
        let mut granted = needs.clone();
        for ((part, _), part_room) in parts.into_iter().zip(share(rest, &part_claims)) {
            let places: Vec<usize> = places(part).collect();
            let claim = |&at: &usize| Claim {
                wants: wants(at),
                weight: measured
                    .get(at)
                    .map_or(0, |roster| Part::of(roster.kind()).1),
            };
            let claims: Vec<Claim> = places.iter().map(claim).collect();
            for (at, more) in places.into_iter().zip(share(part_room, &claims)) {
                if let Some(granted) = granted.get_mut(at) {
                    *granted += more;
                }
            }
        }
        let filled = measured.into_iter().zip(granted);
        filled
            .filter_map(|(roster, room)| roster.fill(room, self.meter))
            .collect()
    }

    /// The guidance that was asked for, or less of it where the budget is small.
    fn guidance(&self) -> Option<Section> {
        let total = self.budget.total();
        let parts = self.budget.ancestors() + self.budget.siblings() + self.budget.current();
        let parts = (parts + self.budget.overhead()).max(1);
        let limit = (self.budget.overhead() * total / parts.max(total)).max(total / 8);
        let unplanned = self.around.current.parent.is_none() && self.around.planned.total == 0;
        let mut level = self.settings.guidance;
        loop {
            let piece = self.meter.piece(level.element(unplanned)?, false);
            if piece.tokens <= limit {
                let shortened = level < self.settings.guidance;
                let omission = Omission {
                    what: format!("{} guidance", self.settings.guidance.as_str()),
                    count: 1,
                    why: Why::Budget,
                    call: "flame context --budget N".to_owned(),
                };
                return Some(Section {
                    kind: SectionKind::Guidance,
                    provenance: Provenance::Stack,
                    tokens: piece.tokens,
                    shown: 1,
                    omitted: shortened.then_some(omission).into_iter().collect(),
                    elements: vec![piece.element],
                    body: piece.text,
                });
            }
            if level == Guidance::Off {
                return None;
            }
            level = level.less();
        }
    }

    /// Counters change most often, so they come last.
    fn position(&self) -> Option<Section> {
        let place = self.around.place;
        let mut elements = Vec::new();
        if place.of > 1 {
            let text = format!("Task {} of {}", place.position, place.of);
            elements.push(Element::text("position", text));
            let mut status = Element::new("sibling-status");
            for (name, count) in [
                ("completed", place.completed),
                ("failed", place.failed),
                ("in-progress", place.in_progress),
                ("blocked", place.blocked),
                ("pending", place.planned),
            ] {
                if count > 0 {
                    status = status.with(name, count.to_string());
                }
            }
            if !status.attributes.is_empty() {
                elements.push(status);
            }
        }
        let next = self.around.next.as_ref().filter(|_| place.of > 1);
        let next =
            next.and_then(|next| titled(next, "next-sibling", self.meter).cut(NEED, self.meter));
        let mut tokens = 0;
        let mut body = String::new();
        for element in &elements {
            let mut text = String::new();
            element.write(&mut text);
            tokens += self.meter.text(&text);
            body.push_str(&text);
        }
        if let Some(piece) = next {
            tokens += piece.tokens;
            body.push_str(&piece.text);
            elements.push(piece.element);
        }
        let room = self.budget.total() / 5;
        (tokens > 0 && tokens <= room).then_some(Section {
            kind: SectionKind::Position,
            provenance: Provenance::Stack,
            tokens,
            shown: elements.len(),
            omitted: Vec::new(),
            elements,
            body,
        })
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

/// Whether the parent and the current frame are among what is shown.
fn says_where(around: &Surroundings, sections: &[Section]) -> bool {
    let shows = |kind: SectionKind, frame: &Frame| {
        let section = sections.iter().find(|section| section.kind == kind);
        let elements = section.into_iter().flat_map(|section| &section.elements);
        elements.flat_map(Element::and_inside).any(|element| {
            let mut attributes = element.attributes.iter();
            attributes.any(|(name, value)| *name == "id" && value == frame.id.as_str())
        })
    };
    let parent = around.ancestors.first();
    parent.is_none_or(|parent| shows(SectionKind::Ancestors, parent))
        && shows(SectionKind::Current, &around.current)
}

/// The least that can be said, for tokenizers that make more of it than there is room for.
fn skeleton(around: &Surroundings) -> String {
    let bare = |name, frame: &Frame| Element::new(name).with("id", frame.id.as_str());
    let mut elements = Vec::new();
    if let Some(parent) = around.ancestors.first() {
        elements.push(Element {
            content: Content::Elements(vec![bare("frame", parent)]),
            ..Element::new("ancestors")
        });
    }
    elements.push(bare("current-frame", &around.current));
    let mut text = String::new();
    let outer = Element {
        content: Content::Elements(elements),
        ..Element::new(OUTER)
    };
    outer.write(&mut text);
    text
}

/// Where the work stands and where to read the rest, in a few dozen tokens: for windows that are
/// nearly full.
pub fn pointer(around: &Surroundings, settings: &Settings, tokenizer: &dyn Tokenizer) -> String {
    let meter = Meter { tokenizer };
    let line = |name, frame| {
        let piece = titled(frame, name, meter).cut(NEED, meter);
        piece.map(|piece| piece.element)
    };
    let parent = around.ancestors.first();
    let mut elements: Vec<Element> = parent
        .and_then(|frame| line("parent", frame))
        .into_iter()
        .collect();
    elements.extend(line(SectionKind::Current.tag(), &around.current));
    let outer = Element {
        content: Content::Elements(elements),
        ..Element::new(OUTER).with("show", settings.calls.details(&around.current.id))
    };
    let mut text = String::new();
    outer.write(&mut text);
    text
}
