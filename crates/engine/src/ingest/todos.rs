//! Mirrors the host's to-do list by frames: each update of it is the whole list.

use std::collections::{BTreeMap, BTreeSet};

use super::recorder::EntryRecorder;
use super::results::{LAST_WORDS, as_is, closed, plain};
use super::topics::Track;
use super::words::{self, prose, title};
use flamestack_core::decide::{Beginning, DecideResult};
use flamestack_core::event::{Closing, Results};
use flamestack_core::frame::{Origin, Rank};
use flamestack_core::transcript::{Todo, TodoStatus};
use flamestack_core::{DecideError, Event, FrameHead, FrameId, Status, Text, Title, TreeQuery};

/// Results of an item that is done.
const TICKED_OFF: &str = "Ticked off on the to-do list.";
/// Maximum length of an item's title, in characters.
const ITEM_LENGTH: usize = 200;
/// Number of levels above the active frame that are searched for the list.
const LEVELS: usize = 16;
/// Maximum number of items that are mirrored.
const ITEMS: usize = 200;

impl<N: TreeQuery + ?Sized> EntryRecorder<'_, '_, N> {
    pub(super) fn todos(&mut self, items: &[Todo]) -> DecideResult<(), N> {
        if self.track == Track::Off {
            return Ok(());
        }
        let own = self.own(None)?;
        let homes = self.homes(&own)?;
        let shared = self.shared(&own)?;
        let mut open: BTreeMap<FrameId, FrameHead> = BTreeMap::new();
        let mut home = None;
        for frame in &homes {
            let mirrored = self.mirrored(&frame.id, Origin::Todo)?;
            if !mirrored.is_empty() && home.is_none() {
                home = Some(frame.clone());
            }
            open.extend(mirrored.into_iter().map(|head| (head.id, head)));
        }
        // A list stays together: new items go where its open ones are.
        let home = home.or_else(|| homes.first().cloned());
        let mut listed: BTreeSet<Title> = BTreeSet::new();
        let mut list = Vec::new();
        for item in items.iter().take(ITEMS) {
            let Some(text) = title(&item.text, ITEM_LENGTH) else {
                continue;
            };
            if !listed.insert(text.clone()) {
                continue;
            }
            let known = match self.known_item(&homes, &text)? {
                Some(known) => Some(known),
                None => self.known_item(&shared, &text)?,
            };
            if let Some(known) = &known {
                open.remove(&known.id);
            }
            let known = known.filter(|known| self.still_mirrors(known, item.status));
            list.push((text, item.status, known));
        }
        let home = home.filter(|home| home.status == Status::InProgress);
        let mut inserted = None;
        for (n, (text, status, known)) in list.iter().enumerate() {
            if let Some(known) = known {
                self.update_item(known, *status)?;
                inserted = None;
            } else if let Some(home) = &home
                && *status != TodoStatus::Cancelled
            {
                let later = list.iter().skip(n + 1).filter_map(|(_, _, it)| it.as_ref());
                let rank = self.place(home, later, inserted)?;
                inserted = rank;
                self.add(home, rank, text.clone(), *status)?;
            }
        }
        for removed in open.into_values() {
            self.drop_item(&removed, "No longer on the to-do list.")?;
        }
        Ok(())
    }

    /// Returns the frames that the list may be below: from the active frame up to the session's own.
    fn homes(&self, own: &FrameHead) -> DecideResult<Vec<FrameHead>, N> {
        let mut homes = self.frames_up(self.decider.active, Some(own.id))?;
        homes.push(own.clone());
        Ok(homes)
    }

    /// Returns the frames above a subagent, which does not repeat the items of its parent's list.
    fn shared(&self, own: &FrameHead) -> DecideResult<Vec<FrameHead>, N> {
        self.frames_up(own.parent.filter(|_| own.origin == Origin::Subagent), None)
    }

    /// Returns a frame and those above it, up to `end` and without it.
    fn frames_up(
        &self,
        from: Option<FrameId>,
        end: Option<FrameId>,
    ) -> DecideResult<Vec<FrameHead>, N> {
        let mut found = Vec::new();
        let mut next = from;
        while let Some(id) = next.filter(|_| next != end && found.len() < LEVELS) {
            let head = self.decider.frame(&id)?;
            next = head.parent;
            found.push(head);
        }
        Ok(found)
    }

    fn known_item(&self, homes: &[FrameHead], text: &Title) -> DecideResult<Option<FrameHead>, N> {
        for home in homes {
            let known = self.decider.tree.todo(&home.id, text);
            if let Some(known) = known? {
                return Ok(Some(known));
            }
        }
        Ok(None)
    }

    /// Returns true if a frame still mirrors an item. An item that is back on the list after its
    /// frame ended is another one.
    fn still_mirrors(&self, known: &FrameHead, status: TodoStatus) -> bool {
        match status {
            TodoStatus::Pending | TodoStatus::Active => known.status.is_open(),
            TodoStatus::Done => known.status != Status::Invalidated,
            TodoStatus::Cancelled => true,
        }
    }

    fn update_item(&mut self, known: &FrameHead, status: TodoStatus) -> DecideResult<(), N> {
        match (status, known.status) {
            (TodoStatus::Active, Status::Planned) => self.start(known),
            (TodoStatus::Done, Status::Planned | Status::InProgress) => {
                if known.status == Status::Planned {
                    self.start(known)?;
                }
                // Pushed work below it goes on; then the item stays open above it.
                let results = self.ticked_off();
                match self.decider.close(known, Closing::Completed, &results) {
                    Err(DecideError::Refused(_)) => Ok(()),
                    other => other,
                }
            }
            (TodoStatus::Cancelled, status) if status.is_open() => {
                self.drop_item(known, "Cancelled on the to-do list.")
            }
            _ => Ok(()),
        }
    }

    fn start(&mut self, item: &FrameHead) -> DecideResult<(), N> {
        let parent = item.parent.as_ref().map(|id| self.decider.frame(id));
        if parent
            .transpose()?
            .is_none_or(|parent| parent.status == Status::InProgress)
        {
            self.emit(Event::FrameStarted { frame: item.id });
        }
        Ok(())
    }

    /// Returns the rank of a new item: before the next item of the list that has a frame, and after
    /// the one that was inserted just now. None if the item comes last.
    fn place<'f>(
        &self,
        home: &FrameHead,
        mut later: impl Iterator<Item = &'f FrameHead>,
        inserted: Option<Rank>,
    ) -> DecideResult<Option<Rank>, N> {
        let Some(next) = later.find(|item| item.parent.as_ref() == Some(&home.id)) else {
            return Ok(None);
        };
        let around = self.decider.tree.ranks_around(Some(&home.id), next.rank);
        let (lower, _) = around?;
        Ok(match inserted.or(lower) {
            Some(lower) => Rank::between(lower, next.rank),
            None => Some(Rank::before(next.rank)),
        })
    }

    fn add(
        &mut self,
        home: &FrameHead,
        rank: Option<Rank>,
        text: Title,
        status: TodoStatus,
    ) -> DecideResult<(), N> {
        let beginning = match status {
            TodoStatus::Pending => Beginning::Planned,
            _ => Beginning::Started,
        };
        let id = self.derive(Some(&home.id), beginning, Origin::Todo, &words::goal(text))?;
        // New frames come last; another event moves the item to its place.
        if let Some(rank) = rank {
            self.emit(Event::FrameMoved {
                frame: id,
                parent: Some(home.id),
                rank,
            });
        }
        if status == TodoStatus::Done {
            let results = self.ticked_off();
            self.emit(closed(id, Closing::Completed, results));
        }
        Ok(())
    }

    /// Returns the results of an item that is done: where its messages may leave the prompt, the model's
    /// last words take their place.
    fn ticked_off(&self) -> Results {
        let said = self.said.as_deref().filter(|_| self.track == Track::Auto);
        match said.and_then(|said| prose(said, LAST_WORDS)) {
            Some(said) => as_is(said),
            None => plain(TICKED_OFF),
        }
    }

    fn drop_item(&mut self, item: &FrameHead, reason: &str) -> DecideResult<(), N> {
        let reason = Text::recorded(reason.to_owned());
        self.decider.invalidate(Some(&item.id), &reason)
    }
}
