//! A section in the making: candidates in order of worth, and the room they get.

use crate::context::budget::{Claim, share};
use crate::context::draft::{Draft, Meter, Piece};
use crate::context::{Omission, Provenance, Section, SectionKind, Why};
use crate::xml::{Content, Element};

/// No entry is measured to less than this, however many there are.
const SMALLEST_MEASURE: usize = 160;

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
    /// What it is called where a part of it was left out, and the call that shows all of it.
    pub(super) whole: Option<(String, String)>,
}

/// A roster with the first of its candidates measured.
pub(super) struct Measured<'a, 's> {
    roster: &'s Roster<'a>,
    /// As many as could be shown at best: the candidate whole, or what it is taken to want.
    sizes: Vec<Result<Piece, usize>>,
    tags: usize,
}

impl<'a> Roster<'a> {
    /// Measures candidates until they would fill `room` by themselves.
    pub(super) fn measure(&self, room: usize, meter: Meter<'_>) -> Measured<'a, '_> {
        let tags = if self.single {
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
        let mut sizes = Vec::new();
        let mut sum = tags;
        for candidate in &self.candidates {
            if sum > room {
                break;
            }
            let size = candidate.draft.whole(most, meter).ok_or(most);
            sum += wants(&size);
            sizes.push(size);
        }
        Measured {
            roster: self,
            sizes,
            tags,
        }
    }

    fn element(&self, shown: usize, omitted: usize) -> Element {
        let mut element = Element::new(self.kind.tag())
            .with("from", self.provenance.as_str())
            .with("count", shown.to_string());
        if omitted > 0 {
            element = element
                .with("omitted", omitted.to_string())
                .with("show", self.call.clone());
        }
        element
    }
}

fn wants(size: &Result<Piece, usize>) -> usize {
    size.as_ref()
        .map_or_else(|most| *most, |piece| piece.tokens)
}

impl Measured<'_, '_> {
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

    /// Shows as many candidates as can be shown decently, and of each as much as its share allows.
    pub(super) fn fill(self, room: usize, meter: Meter<'_>) -> Option<Section> {
        let roster = self.roster;
        let mut left = room.saturating_sub(self.tags);
        let mut taken = 0;
        for size in &self.sizes {
            let least = wants(size).min(roster.least);
            // The first is shown however little of it there is room for.
            match left.checked_sub(least) {
                Some(rest) => left = rest,
                None if taken == 0 => left = 0,
                None => break,
            }
            taken += 1;
        }
        let entries: Vec<_> = roster
            .candidates
            .iter()
            .zip(self.sizes)
            .take(taken)
            .collect();
        let claim = |(candidate, size): &(&Candidate<'_>, Result<Piece, usize>)| Claim {
            wants: wants(size),
            weight: candidate.weight,
        };
        let claims: Vec<Claim> = entries.iter().map(claim).collect();
        let granted = share(room.saturating_sub(self.tags), &claims);
        let mut spare = 0;
        let mut shown = Vec::new();
        let mut omitted = Vec::new();
        for ((candidate, size), granted) in entries.into_iter().zip(granted) {
            let granted = granted + spare;
            let piece = match size {
                Ok(whole) if whole.tokens <= granted => Some(whole),
                _ => candidate.draft.cut(granted, meter),
            };
            spare = granted;
            if let Some(piece) = piece {
                spare = granted.saturating_sub(piece.tokens);
                if piece.cut
                    && let Some((what, call)) = &candidate.whole
                {
                    omitted.push(Omission {
                        what: format!("part of {what}"),
                        count: 1,
                        why: Why::Budget,
                        call: call.clone(),
                    });
                }
                shown.push((candidate.place, piece));
            }
        }
        shown.sort_by_key(|(place, _)| *place);
        let pieces = shown.into_iter().map(|(_, piece)| piece).collect();
        roster.section(pieces, omitted, room, meter)
    }
}

impl Roster<'_> {
    fn section(
        &self,
        shown: Vec<Piece>,
        mut omitted: Vec<Omission>,
        room: usize,
        meter: Meter<'_>,
    ) -> Option<Section> {
        if self.total == 0 {
            return None;
        }
        let count = shown.len();
        let left_out = self.total.saturating_sub(count);
        omitted.extend(self.omissions(left_out));
        let mut tokens = 0;
        let mut body = String::new();
        let mut elements = Vec::with_capacity(count);
        for piece in shown {
            tokens += piece.tokens;
            body.push_str(&piece.text);
            elements.push(piece.element);
        }
        if !self.single {
            let mut outer = self.element(count, left_out);
            if elements.is_empty() {
                outer.write(&mut body);
                tokens = meter.text(&body);
            } else {
                let (mut start, mut end) = (String::new(), String::new());
                outer.write_start(&mut start);
                outer.write_end(&mut end);
                tokens += meter.text(&start) + meter.text(&end);
                body = start + &body + &end;
                outer.content = Content::Elements(elements);
            }
            elements = vec![outer];
        }
        if tokens > room {
            // No room even to say that there is something.
            (tokens, body, elements) = (0, String::new(), Vec::new());
        }
        Some(Section {
            kind: self.kind,
            provenance: self.provenance,
            tokens,
            shown: count,
            omitted,
            elements,
            body,
        })
    }

    fn omissions(&self, left_out: usize) -> impl Iterator<Item = Omission> {
        let no_room = left_out.saturating_sub(self.over_limit + self.irrelevant);
        let reasons = [
            (no_room, Why::Budget),
            (self.over_limit, Why::Limit),
            (self.irrelevant, Why::Relevance),
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
