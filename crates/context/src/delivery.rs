//! Deliveries to a session, which never rewrite what its model has seen.
//!
//! A header is sent once and then frozen, even an empty one. A session knows its own changes from
//! its tool calls. Changes by others are sent as an update, after everything sent before. Only a
//! compaction or a resume, when the prompt is a new one anyway, leads to a new header.

use std::collections::{BTreeMap, BTreeSet};

use crate::assemble::assemble_after;
use crate::detail::{Detail, describe};
use crate::draft::{ElementDraft, Inside, TokenCounter};
use crate::section_draft::{Item, SectionDraft};
use crate::surroundings::Surroundings;
use crate::xml::Element;
use crate::{ContextSettings, Provenance, SectionKind, calls};
use flamestack_core::Author;
use flamestack_core::delivery::{Delivery, HeaderReason, Sending, Sent};
use flamestack_core::event::{Event, Recorded};
use flamestack_core::frame::{Frame, Origin, Status};
use flamestack_core::id::{FrameId, Seq};
use flamestack_core::note::Directive;
use flamestack_core::text::Text;
use flamestack_extract::tokens::Tokenizer;

/// Maximum share of a context's budget for an update: one part in this many.
const UPDATE_SHARE: usize = 4;
/// Minimum number of tokens for a change to be worth showing.
const LEAST_CHANGE: usize = 48;

/// Decides what to send to a session next.
///
/// `around` is the surroundings of its frame, if it has one. `since` contains the events after
/// `sent.position` and, for each undo and each session that was reverted or restored, the earlier
/// events that it masked or unmasked. Without a reason, only a session that was never sent anything
/// gets a header: its prompt is only appended to.
pub fn deliver(
    sent: Option<&Sent>,
    around: Option<&Surroundings>,
    since: &[Recorded],
    after: Option<HeaderReason>,
    settings: &ContextSettings,
    tokenizer: &dyn Tokenizer,
) -> Sending {
    let delivery = match (sent, after, around) {
        (Some(_), None, None) => Delivery::Nothing,
        (Some(sent), None, Some(around)) => {
            let changes = Changes::by_others(sent, around, since);
            let update = changes.written(settings, tokenizer);
            update.map_or(Delivery::Nothing, Delivery::Update)
        }
        (_, _, None) => Delivery::Header(String::new()),
        (_, _, Some(around)) => {
            Delivery::Header(assemble_after(around, settings, tokenizer, after).text)
        }
    };
    Sending {
        delivery,
        after,
        frame: around.map(|around| around.current.id),
        known: around.map(known).unwrap_or_default(),
    }
}

fn known(around: &Surroundings) -> Vec<FrameId> {
    // Frames that mirror a host's lists come and go; their absence is not news.
    let open = all_frames(around).filter(|it| it.status.is_open() && !it.origin.is_mirror());
    let known: BTreeSet<FrameId> = open.map(|frame| frame.id).collect();
    known.into_iter().collect()
}

fn all_frames(around: &Surroundings) -> impl Iterator<Item = &Frame> {
    std::iter::once(&around.current)
        .chain(&around.ancestors)
        .chain(&around.children.frames)
        .chain(&around.planned.frames)
        .chain(&around.open.frames)
        .chain(&around.siblings)
        .chain(&around.uncles.frames)
        .chain(&around.next)
}

/// Changes by others to the frames in a session's context.
struct Changes<'a> {
    around: &'a Surroundings,
    here: BTreeMap<&'a FrameId, &'a Frame>,
    /// The event that switched the session to another frame, if another one or the user did.
    switched_by: Option<&'a Recorded>,
    /// Last change of each frame.
    touched: BTreeMap<&'a FrameId, Touch<'a>>,
    /// Directives that the user gave in other sessions.
    directives: Vec<&'a Directive>,
}

/// Events whose session was reverted or restored since, each with the event that did it.
#[derive(Default)]
struct Reverts<'a> {
    masked: BTreeMap<Seq, &'a Recorded>,
    unmasked: BTreeMap<Seq, &'a Recorded>,
}

impl<'a> Reverts<'a> {
    fn take(&mut self, recorded: &'a Recorded) {
        let (seqs, out, into) = match &recorded.event {
            Event::SessionReverted { masked, .. } => (masked, &mut self.unmasked, &mut self.masked),
            Event::SessionRestored { unmasked, .. } => {
                (unmasked, &mut self.masked, &mut self.unmasked)
            }
            _ => return,
        };
        for seq in seqs {
            // Reverted and restored: nothing has changed.
            if out.remove(seq).is_none() {
                into.insert(*seq, recorded);
            }
        }
    }
}

struct Touch<'a> {
    by: &'a Recorded,
    /// End of the frame, if it is no longer in the context.
    fate: Fate<'a>,
}

/// The way in which a frame left the context, in a word, and the reason.
type Fate<'a> = Option<(&'static str, Option<&'a Text>)>;

impl<'a> Changes<'a> {
    fn by_others(sent: &Sent, around: &'a Surroundings, since: &'a [Recorded]) -> Self {
        let mut changes = Self {
            around,
            here: all_frames(around).map(|frame| (&frame.id, frame)).collect(),
            switched_by: None,
            touched: BTreeMap::new(),
            directives: Vec::new(),
        };
        // The user may act for the session from a terminal, which its model does not see.
        let foreign = |recorded: &Recorded| {
            recorded.by == Author::User || Some(&recorded.session) != around.session.as_ref()
        };
        let mut undone: BTreeMap<Seq, &Recorded> = BTreeMap::new();
        let mut reverts = Reverts::default();
        for recorded in since {
            if let Event::CommandUndone { batch } = recorded.event {
                undone.insert(batch, recorded);
            }
            reverts.take(recorded);
        }
        for recorded in since {
            let is_new = recorded.seq > sent.position;
            if let Some(revert) = reverts.masked.get(&recorded.seq) {
                if !is_new && foreign(revert) {
                    changes.was_undone(sent, recorded, revert);
                }
                continue;
            }
            if let Some(restored) = reverts.unmasked.get(&recorded.seq) {
                if foreign(restored) {
                    changes.was_restored(sent, recorded, restored);
                }
                continue;
            }
            match undone.get(&recorded.batch) {
                // Done and undone between two messages: nothing has changed.
                Some(_) if is_new => {}
                Some(undo) if foreign(undo) => changes.was_undone(sent, recorded, undo),
                None if is_new && foreign(recorded) => changes.happened(sent, recorded),
                _ => {}
            }
        }
        if sent.frame.as_ref() == Some(&around.current.id) {
            changes.switched_by = None;
        }
        let elsewhere = |directive: &&Directive| {
            directive.said > sent.position && !directive.is_said_in(around.session.as_ref())
        };
        changes.directives = around.directives.iter().filter(elsewhere).collect();
        changes
    }

    fn happened(&mut self, sent: &Sent, recorded: &'a Recorded) {
        if let Event::SessionFocused { session, .. } = &recorded.event
            && Some(session) == self.around.session.as_ref()
        {
            self.switched_by = Some(recorded);
        }
        for (frame, fate) in visible(&recorded.event) {
            self.touch(sent, frame, recorded, fate);
        }
    }

    fn was_undone(&mut self, sent: &Sent, recorded: &'a Recorded, undo: &'a Recorded) {
        let opened = matches!(recorded.event, Event::FrameOpened { .. });
        for (frame, _) in visible(&recorded.event) {
            self.touch(sent, frame, undo, opened.then_some(("undone", None)));
        }
    }

    fn was_restored(&mut self, sent: &Sent, recorded: &'a Recorded, restored: &'a Recorded) {
        for (frame, fate) in visible(&recorded.event) {
            self.touch(sent, frame, restored, fate);
        }
    }

    fn touch(&mut self, sent: &Sent, frame: &'a FrameId, by: &'a Recorded, fate: Fate<'a>) {
        let here = self.here.get(frame);
        // The to-do list of another session is not news, unless the user edits it at a terminal. Nor is
        // what a subagent does with its own frame: its answer returns through the call that started it.
        let is_known = here.is_some_and(|frame| {
            let by_itself = frame.session.as_ref() == Some(&by.session);
            frame.origin.is_mirror() || (by_itself && frame.origin == Origin::Subagent)
        });
        if is_known && by.by != Author::User {
            return;
        }
        if here.is_some() || (fate.is_some() && sent.known.contains(frame)) {
            self.touched.insert(frame, Touch { by, fate });
        }
    }

    /// Renders the update; `None` if there are no changes.
    fn written(&self, settings: &ContextSettings, tokenizer: &dyn Tokenizer) -> Option<String> {
        let draft = self.draft();
        if draft.total == 0 {
            return None;
        }
        let limit = settings.budget.total() / UPDATE_SHARE;
        let counter = TokenCounter { tokenizer };
        let mut room = limit;
        for _ in 0..4 {
            let text = draft.measure(room, counter).fill(room, counter)?.body;
            let tokens = tokenizer.count(&text);
            if tokens <= limit && !text.is_empty() {
                return Some(text);
            }
            room = room.saturating_sub((tokens + 1).saturating_sub(limit).max(1));
        }
        let mut least = String::new();
        Element::new(SectionKind::Update.tag()).write(&mut least);
        (tokenizer.count(&least) <= limit).then_some(least)
    }

    fn draft(&self) -> SectionDraft<'_> {
        let current = &self.around.current;
        let mut items = Vec::new();
        if let Some(by) = self.switched_by {
            let mut draft = describe(current, Detail::Everything);
            draft.name = SectionKind::Current.tag();
            items.push((Seq(i64::MAX), attributed(draft, by)));
        }
        for directive in &self.directives {
            let mut draft = ElementDraft::text("directive", directive.text.as_str());
            let user = Provenance::User.as_str().into();
            draft.attributes.push(("from", user));
            items.push((directive.said, draft));
        }
        let shown = self.switched_by.map(|_| &current.id);
        for (id, touch) in self.touched.iter().filter(|(id, _)| Some(**id) != shown) {
            items.push((touch.by.seq, self.change(id, touch)));
        }
        items.sort_by_key(|(seq, _)| *seq);
        let call = calls::details(&current.id);
        let mut draft = SectionDraft::new(SectionKind::Update, "changes", call);
        draft.provenance = Provenance::Stack;
        draft.least = LEAST_CHANGE;
        draft.total = items.len();
        // The newest changes have the highest priority and are shown last.
        let items = items.into_iter().enumerate().rev();
        draft.items = items
            .map(|(place, (_, element))| Item::new(element, place))
            .collect();
        draft
    }

    fn change(&self, id: &'a FrameId, touch: &Touch<'a>) -> ElementDraft<'a> {
        let draft = match self.here.get(id) {
            Some(frame) if frame.status.is_open() => describe(frame, Detail::Goal),
            Some(frame) => describe(frame, Detail::Results),
            None => {
                let (fate, why) = touch.fate.unwrap_or(("gone", None));
                ElementDraft {
                    name: "frame",
                    attributes: vec![("id", id.as_str().into()), ("status", fate.into())],
                    inside: why.map_or(Inside::Nothing, |why| Inside::text(why.as_str())),
                }
            }
        };
        attributed(draft, touch.by)
    }
}

/// Adds the author of a change: the user at a terminal, or another session.
fn attributed<'d>(mut draft: ElementDraft<'d>, change: &'d Recorded) -> ElementDraft<'d> {
    let by = match change.by {
        Author::User => Provenance::User.as_str().into(),
        Author::Agent => change.session.to_string().into(),
    };
    draft.attributes.retain(|(name, _)| *name != "from");
    draft.attributes.push(("by", by));
    draft
}

/// Returns the frames of which an event changes what a context says, and their fate if they leave it.
fn visible(event: &Event) -> Vec<(&FrameId, Fate<'_>)> {
    let traits = event.traits();
    if !traits.in_context {
        return Vec::new();
    }
    let invalidated = Status::Invalidated.as_str();
    let (own, cascaded) = match event {
        Event::FrameMoved { .. } => (Some(("moved", None)), None),
        Event::FrameClosed {
            outcome, results, ..
        } => {
            let dense = results.compacted.as_ref().unwrap_or(&results.full);
            let own = (outcome.status().as_str(), Some(dense));
            (Some(own), Some((invalidated, None)))
        }
        Event::FrameInvalidated { reason, .. } => {
            let fate = Some((invalidated, Some(reason)));
            (fate, fate)
        }
        Event::FrameDeleted { .. } => (Some(("deleted", None)), Some(("deleted", None))),
        _ => (None, None),
    };
    let cascaded = traits.cascaded.iter().map(|id| (id, cascaded));
    let own = traits.frame.map(|id| (id, own));
    own.into_iter().chain(cascaded).collect()
}

#[cfg(test)]
#[path = "delivery_tests.rs"]
mod tests;
