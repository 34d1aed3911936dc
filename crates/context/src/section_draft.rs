//! Drafts of sections: items in order of priority, and the room they get.

use crate::budget::{Claim, share};
use crate::draft::{ElementDraft, MeasuredElement, TokenCounter};
use crate::xml::{Content, Element};
use crate::{Omission, OmissionReason, Provenance, Section, SectionKind, calls};
use flamestack_core::id::FrameId;

/// Minimum number of tokens for a frame to be worth showing.
const LEAST_FRAME: usize = 64;
/// Minimum limit when an item is measured, however many items there are.
const SMALLEST_MEASURE: usize = 160;
/// Number of items among which room is divided fairly: an item that wants more than its part is cut.
const CROWD: usize = 4;
/// Maximum number of items that are skipped in search of a shorter one that fits.
const PASSED_OVER: usize = 8;

/// Draft of a section.
pub(super) struct SectionDraft<'a> {
    pub(super) kind: SectionKind,
    pub(super) provenance: Provenance,
    /// Items, best first.
    pub(super) items: Vec<Item<'a>>,
    /// Number of entries in all, including those that are not items.
    pub(super) total: usize,
    /// Number of entries left out because of a setting.
    pub(super) over_limit: usize,
    /// Number of items, from the first on, that compete for room. The others are shown only in room
    /// that no section needs.
    pub(super) relevant: usize,
    /// Minimum number of tokens for an item to be worth showing.
    pub(super) least: usize,
    /// Name of the entries, in the plural.
    pub(super) what: &'static str,
    /// Call that shows all entries.
    pub(super) call: String,
    /// True if the section is its only entry rather than a list.
    pub(super) single: bool,
}

/// An entry that may be shown.
pub(super) struct Item<'a> {
    pub(super) element: ElementDraft<'a>,
    /// Order among the items shown.
    pub(super) place: usize,
    /// Weight in a shortage.
    pub(super) weight: usize,
    /// The frame that it describes: shows the rest if it is cut.
    pub(super) of: Option<&'a FrameId>,
}

/// A draft whose first items are measured.
pub(super) struct Measured<'a, 's> {
    draft: &'s SectionDraft<'a>,
    /// The items that could be shown at best: whole, or the tokens that they are assumed to want.
    sizes: Vec<Result<MeasuredElement<'s>, usize>>,
    tags: usize,
}

impl<'a> Item<'a> {
    pub(super) fn new(element: ElementDraft<'a>, place: usize) -> Self {
        Self {
            element,
            place,
            weight: 1,
            of: None,
        }
    }
}

impl<'a> SectionDraft<'a> {
    pub(super) fn new(kind: SectionKind, what: &'static str, call: String) -> Self {
        Self {
            kind,
            provenance: Provenance::Model,
            items: Vec::new(),
            total: 0,
            over_limit: 0,
            relevant: usize::MAX,
            least: LEAST_FRAME,
            what,
            call,
            single: false,
        }
    }

    /// Measures the relevant items until they alone would fill `room`.
    pub(super) fn measure<'s>(
        &'s self,
        room: usize,
        counter: TokenCounter<'_>,
    ) -> Measured<'a, 's> {
        self.measure_first(self.relevant, room, counter)
    }

    /// Measures all items, the irrelevant ones last.
    pub(super) fn measure_all<'s>(
        &'s self,
        room: usize,
        counter: TokenCounter<'_>,
    ) -> Measured<'a, 's> {
        self.measure_first(usize::MAX, room, counter)
    }

    /// Returns true if it has items that are shown only in spare room.
    pub(super) fn has_irrelevant(&self) -> bool {
        self.items.len() > self.relevant
    }

    fn measure_first<'s>(
        &'s self,
        count: usize,
        room: usize,
        counter: TokenCounter<'_>,
    ) -> Measured<'a, 's> {
        // An empty section is not shown and has no tags.
        let tags = if self.single || self.total == 0 {
            0
        } else {
            let widest = self.element(self.total, self.total);
            let (mut start, mut end) = (String::new(), String::new());
            widest.write_start(&mut start);
            widest.write_end(&mut end);
            counter.text(&start) + counter.text(&end)
        };
        let crowd = self.items.len().min(count).max(1);
        let most = (2 * room / crowd).max(SMALLEST_MEASURE).min(room);
        // An item that wants more than its fair share does not keep others from being measured.
        let fair = room / self.weights();
        let mut sizes = Vec::new();
        let mut sum = tags;
        for item in self.items.iter().take(count) {
            if sum > room {
                break;
            }
            let size = item.element.whole(most, counter).ok_or(most);
            sum += wants(&size).min(fair.saturating_mul(item.weight));
            sizes.push(size);
        }
        Measured {
            draft: self,
            sizes,
            tags,
        }
    }

    /// Returns the sum of the weights among which room is divided fairly.
    fn weights(&self) -> usize {
        let first = self.items.iter().take(CROWD);
        first.map(|item| item.weight).sum::<usize>().max(1)
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

fn wants(size: &Result<MeasuredElement<'_>, usize>) -> usize {
    size.as_ref()
        .map_or_else(|most| *most, |measured| measured.tokens)
}

impl<'s> Measured<'_, 's> {
    /// Returns the kind of the section.
    pub(super) fn kind(&self) -> SectionKind {
        self.draft.kind
    }

    /// Returns the number of tokens that would show all measured items.
    pub(super) fn wants(&self) -> usize {
        if self.draft.total == 0 {
            return 0;
        }
        self.tags + self.sizes.iter().map(wants).sum::<usize>()
    }

    /// Returns the minimum number of tokens of the first item.
    pub(super) fn needs(&self, least: usize) -> usize {
        match self.sizes.first() {
            Some(first) => self.tags + wants(first).min(least),
            None => 0,
        }
    }

    /// Renders the best items that fit.
    pub(super) fn fill(self, room: usize, counter: TokenCounter<'_>) -> Option<Section<'s>> {
        let draft = self.draft;
        if draft.total == 0 {
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
        let mut sizes: Vec<Option<Result<MeasuredElement<'s>, usize>>> =
            self.sizes.into_iter().map(Some).collect();
        let mut spare = 0;
        let mut shown = Vec::new();
        let mut omitted = Vec::new();
        for (at, granted) in chosen.whole.into_iter().chain(chosen.last).zip(granted) {
            let Some(item) = draft.items.get(at) else {
                continue;
            };
            let granted = granted + spare;
            let measured = match sizes.get_mut(at).and_then(Option::take) {
                Some(Ok(whole)) if whole.tokens <= granted => Some(whole),
                _ => item.element.cut(granted, counter),
            };
            spare = granted;
            if let Some(measured) = measured {
                spare = granted.saturating_sub(measured.tokens);
                if measured.cut {
                    omitted.push(draft.cut_off(item));
                }
                shown.push((item.place, measured));
            }
        }
        shown.sort_by_key(|(place, _)| *place);
        let measured = shown.into_iter().map(|(_, measured)| measured).collect();
        Some(draft.section(measured, omitted, room, counter))
    }

    /// Chooses the items to show: as many as fit whole, best first. An item is cut in favour of a
    /// lower one only if it wants more than its fair share of the room. What is left goes to one
    /// more item, which is cut.
    fn chosen(&self, room: usize) -> Chosen {
        let fair = (room / self.draft.weights()).max(self.draft.least);
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
            } else if chosen.whole.is_empty() || left >= self.draft.least {
                // The first item is shown however little room there is.
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
        let item = self.draft.items.get(at)?;
        Some(Claim {
            wants: wants(self.sizes.get(at)?),
            weight: item.weight,
        })
    }
}

/// The items to show, by their index.
#[derive(Default)]
struct Chosen {
    /// Items that get what they want, or at least a fair share.
    whole: Vec<usize>,
    /// One more item, which gets what is left.
    last: Option<usize>,
    last_room: usize,
}

impl SectionDraft<'_> {
    fn section<'s>(
        &'s self,
        shown: Vec<MeasuredElement<'s>>,
        mut omitted: Vec<Omission>,
        room: usize,
        counter: TokenCounter<'_>,
    ) -> Section<'s> {
        let count = shown.len();
        let left_out = self.total.saturating_sub(count);
        omitted.extend(self.omissions(count));
        let mut tokens: usize = shown.iter().map(|measured| measured.tokens).sum();
        let bytes: usize = shown.iter().map(|measured| measured.text.len()).sum();
        let mut body = String::with_capacity(bytes + 256);
        let mut outer = self.element(count, left_out);
        let is_list = !self.single && count > 0;
        if is_list {
            outer.write_start(&mut body);
            tokens += counter.text(&body);
        }
        let mut elements = Vec::with_capacity(count);
        for measured in shown {
            body.push_str(&measured.text);
            elements.push(measured.element);
        }
        if is_list {
            let end = body.len();
            outer.write_end(&mut body);
            tokens += counter.text(body.get(end..).unwrap_or_default());
            outer.content = Content::Elements(elements);
            elements = vec![outer];
        } else if count == 0 {
            outer.write(&mut body);
            tokens = counter.text(&body);
            elements.push(outer);
        }
        if tokens > room {
            // Not even the empty element fits.
            (tokens, body, elements) = (0, String::new(), Vec::new());
        }
        Section {
            kind: self.kind,
            provenance: self.provenance,
            tokens,
            shown: count,
            omitted,
            body,
            elements,
        }
    }

    fn cut_off(&self, item: &Item<'_>) -> Omission {
        let (what, call) = match item.of {
            Some(frame) => (frame.as_str(), calls::details(frame)),
            None => (self.what, self.call.clone()),
        };
        Omission {
            what: format!("part of {what}"),
            count: 1,
            why: OmissionReason::Budget,
            call,
        }
    }

    /// Returns what is left out if `shown` items are shown.
    fn omissions(&self, shown: usize) -> impl Iterator<Item = Omission> {
        let relevant = self.items.len().min(self.relevant);
        let no_room = relevant.saturating_sub(shown);
        let irrelevant = self.items.len().saturating_sub(relevant.max(shown));
        let known = shown + no_room + self.over_limit + irrelevant;
        let reasons = [
            (no_room, OmissionReason::Budget),
            (self.over_limit, OmissionReason::Limit),
            (irrelevant, OmissionReason::Relevance),
            (self.total.saturating_sub(known), OmissionReason::TooMany),
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
