//! A section in the making: candidates in order of worth, and the room they get.

use crate::context::budget::{Claim, share};
use crate::context::draft::{Draft, Meter, Piece};
use crate::context::{Calls, Omission, Provenance, Section, SectionKind, Why};
use crate::id::FrameId;
use crate::xml::{Content, Element};

/// No entry is measured to less than this, however many there are.
const SMALLEST_MEASURE: usize = 160;
/// An entry may have one of this many parts of the room before it is cut for the sake of others.
const CROWD: usize = 4;
/// How many entries that do not fit are passed over in search of a shorter one that does.
const PASSED_OVER: usize = 8;

/// A section in the making.
pub(super) struct Roster<'a> {
    pub(super) kind: SectionKind,
    pub(super) provenance: Provenance,
    /// Best first.
    pub(super) candidates: Vec<Candidate<'a>>,
    /// How many there are in all, candidates or not.
    pub(super) total: usize,
    /// How many fell to a setting.
    pub(super) over_limit: usize,
    /// How many have too little to do with the goal.
    pub(super) irrelevant: usize,
    /// An entry with fewer tokens than this (or than all it wants) is not worth showing.
    pub(super) least: usize,
    /// What the entries are called in words.
    pub(super) what: &'static str,
    /// The call that shows all of them.
    pub(super) call: String,
    /// How calls are written.
    pub(super) calls: Calls,
    /// Whether the section is its only entry rather than a list.
    pub(super) single: bool,
}

/// Something that wants to be on the list.
pub(super) struct Candidate<'a> {
    pub(super) draft: Draft<'a>,
    /// Where it stands among those shown.
    pub(super) place: usize,
    /// How much of a shortage it may keep.
    pub(super) weight: usize,
    /// The frame it tells of, which can be asked for the rest where it is cut.
    pub(super) of: Option<&'a FrameId>,
}

/// A section and what it was drawn from.
pub(super) struct Drawn<'a> {
    pub(super) section: Section,
    pub(super) elements: Vec<Element<'a>>,
}

/// A roster with the first of its candidates measured.
pub(super) struct Measured<'a, 's> {
    roster: &'s Roster<'a>,
    /// As many as could be shown at best: the candidate whole, or what it is taken to want.
    sizes: Vec<Result<Piece<'s>, usize>>,
    tags: usize,
}

impl<'a> Roster<'a> {
    /// Measures candidates until they would fill `room` by themselves.
    pub(super) fn measure<'s>(&'s self, room: usize, meter: Meter<'_>) -> Measured<'a, 's> {
        // A roster of nothing is not shown, and so it has no tags.
        let tags = if self.single || self.total == 0 {
            0
        } else {
            let widest = self.element(self.total, self.total);
            let (mut start, mut end) = (String::new(), String::new());
            widest.write_start(&mut start);
            widest.write_end(&mut end);
            meter.text(&start) + meter.text(&end)
        };
        let crowd = self.candidates.len().max(1);
        let most = (2 * room / crowd).max(SMALLEST_MEASURE).min(room);
        // Nobody keeps others from being looked at by wanting more than a fair share.
        let fair = room / self.weights();
        let mut sizes = Vec::new();
        let mut sum = tags;
        for candidate in &self.candidates {
            if sum > room {
                break;
            }
            let size = candidate.draft.whole(most, meter).ok_or(most);
            sum += wants(&size).min(fair.saturating_mul(candidate.weight));
            sizes.push(size);
        }
        Measured {
            roster: self,
            sizes,
            tags,
        }
    }

    /// The weights of those among whom room is divided fairly.
    fn weights(&self) -> usize {
        let first = self.candidates.iter().take(CROWD);
        first
            .map(|candidate| candidate.weight)
            .sum::<usize>()
            .max(1)
    }

    fn element(&self, shown: usize, omitted: usize) -> Element<'_> {
        let mut element = Element::new(self.kind.tag())
            .with("from", self.provenance.as_str())
            .with("count", shown.to_string());
        if omitted > 0 {
            element = element
                .with("omitted", omitted.to_string())
                .with("show", self.call.as_str());
        }
        element
    }
}

fn wants(size: &Result<Piece<'_>, usize>) -> usize {
    size.as_ref()
        .map_or_else(|most| *most, |piece| piece.tokens)
}

impl<'s> Measured<'_, 's> {
    /// What kind of section this will be.
    pub(super) fn kind(&self) -> SectionKind {
        self.roster.kind
    }

    /// How much room would show everything that was measured.
    pub(super) fn wants(&self) -> usize {
        if self.roster.total == 0 {
            return 0;
        }
        self.tags + self.sizes.iter().map(wants).sum::<usize>()
    }

    /// How much room the first entry needs at the very least.
    pub(super) fn needs(&self, least: usize) -> usize {
        match self.sizes.first() {
            Some(first) => self.tags + wants(first).min(least),
            None => 0,
        }
    }

    /// Shows the best candidates that there is room for.
    pub(super) fn fill(self, room: usize, meter: Meter<'_>) -> Option<Drawn<'s>> {
        let roster = self.roster;
        if roster.total == 0 {
            return None;
        }
        let inside = room.saturating_sub(self.tags);
        let chosen = self.chosen(inside);
        let claims: Vec<Claim> = chosen
            .whole
            .iter()
            .filter_map(|&at| self.claim(at))
            .collect();
        let mut granted = share(inside - chosen.last_room, &claims);
        granted.push(chosen.last_room);
        let mut sizes: Vec<Option<Result<Piece<'s>, usize>>> =
            self.sizes.into_iter().map(Some).collect();
        let mut spare = 0;
        let mut shown = Vec::new();
        let mut omitted = Vec::new();
        for (at, granted) in chosen.whole.into_iter().chain(chosen.last).zip(granted) {
            let Some(candidate) = roster.candidates.get(at) else {
                continue;
            };
            let granted = granted + spare;
            let piece = match sizes.get_mut(at).and_then(Option::take) {
                Some(Ok(whole)) if whole.tokens <= granted => Some(whole),
                _ => candidate.draft.cut(granted, meter),
            };
            spare = granted;
            if let Some(piece) = piece {
                spare = granted.saturating_sub(piece.tokens);
                if piece.cut {
                    omitted.push(roster.cut_off(candidate));
                }
                shown.push((candidate.place, piece));
            }
        }
        shown.sort_by_key(|(place, _)| *place);
        let pieces = shown.into_iter().map(|(_, piece)| piece).collect();
        Some(roster.section(pieces, omitted, room, meter))
    }

    /// Chooses who is shown: as many as fit whole, best first. Nobody is cut for the sake of
    /// somebody less worthy, save those who want more than a fair share of the room; and what is
    /// left goes to one more, as much of it as fits.
    fn chosen(&self, room: usize) -> Chosen {
        let fair = (room / self.roster.weights()).max(self.roster.least);
        let mut chosen = Chosen::default();
        let mut left = room;
        let mut passed_over = 0;
        for at in 0..self.sizes.len() {
            let Some(claim) = self.claim(at) else {
                break;
            };
            let asks = claim.wants.min(fair.saturating_mul(claim.weight));
            if let Some(rest) = left.checked_sub(asks) {
                chosen.whole.push(at);
                left = rest;
            } else if chosen.whole.is_empty() || left >= self.roster.least {
                // The first is shown however little of it there is room for.
                chosen.last = Some(at);
                chosen.last_room = left;
                break;
            } else if passed_over == PASSED_OVER {
                break;
            } else {
                passed_over += 1;
            }
        }
        chosen
    }

    fn claim(&self, at: usize) -> Option<Claim> {
        let candidate = self.roster.candidates.get(at)?;
        Some(Claim {
            wants: wants(self.sizes.get(at)?),
            weight: candidate.weight,
        })
    }
}

/// Who is shown, by place in the order of worth.
#[derive(Default)]
struct Chosen {
    /// Those who get what they want, or at least a fair share.
    whole: Vec<usize>,
    /// One more, who gets what is left.
    last: Option<usize>,
    last_room: usize,
}

impl Roster<'_> {
    fn section<'s>(
        &'s self,
        shown: Vec<Piece<'s>>,
        mut omitted: Vec<Omission>,
        room: usize,
        meter: Meter<'_>,
    ) -> Drawn<'s> {
        let count = shown.len();
        let left_out = self.total.saturating_sub(count);
        omitted.extend(self.omissions(count));
        let mut tokens: usize = shown.iter().map(|piece| piece.tokens).sum();
        let bytes: usize = shown.iter().map(|piece| piece.text.len()).sum();
        let mut body = String::with_capacity(bytes + 256);
        let mut outer = self.element(count, left_out);
        let is_list = !self.single && count > 0;
        if is_list {
            outer.write_start(&mut body);
            tokens += meter.text(&body);
        }
        let mut elements = Vec::with_capacity(count);
        for piece in shown {
            body.push_str(&piece.text);
            elements.push(piece.element);
        }
        if is_list {
            let end = body.len();
            outer.write_end(&mut body);
            tokens += meter.text(body.get(end..).unwrap_or_default());
            outer.content = Content::Elements(elements);
            elements = vec![outer];
        } else if count == 0 {
            outer.write(&mut body);
            tokens = meter.text(&body);
            elements.push(outer);
        }
        if tokens > room {
            // No room even to say that there is something.
            (tokens, body, elements) = (0, String::new(), Vec::new());
        }
        let section = Section {
            kind: self.kind,
            provenance: self.provenance,
            tokens,
            shown: count,
            omitted,
            body,
        };
        Drawn { section, elements }
    }

    fn cut_off(&self, candidate: &Candidate<'_>) -> Omission {
        let (what, call) = match candidate.of {
            Some(frame) => (frame.as_str(), self.calls.details(frame)),
            None => (self.what, self.call.clone()),
        };
        Omission {
            what: format!("part of {what}"),
            count: 1,
            why: Why::Budget,
            call,
        }
    }

    /// What is left out where so many are shown.
    fn omissions(&self, shown: usize) -> impl Iterator<Item = Omission> {
        let no_room = self.candidates.len().saturating_sub(shown);
        let known = shown + no_room + self.over_limit + self.irrelevant;
        let reasons = [
            (no_room, Why::Budget),
            (self.over_limit, Why::Limit),
            (self.irrelevant, Why::Relevance),
            (self.total.saturating_sub(known), Why::Crowd),
        ];
        let some = reasons.into_iter().filter(|(count, _)| *count > 0);
        some.map(|(count, why)| Omission {
            what: self.what.to_owned(),
            count,
            why,
            call: self.call.clone(),
        })
    }
}
