//! The host's to-do list, mirrored by frames: each update of it is the whole list.

use std::collections::{BTreeMap, BTreeSet};

use super::results::plain;
use super::words::{self, title};
use super::{Ruling, Scene};
use crate::Rejected;
use crate::event::{Closing, Event};
use crate::frame::{FrameHead, Origin, Rank, Status};
use crate::id::FrameId;
use crate::neighbourhood::Neighbourhood;
use crate::text::{Prose, Title};
use crate::transcript::{Todo, TodoStatus};

/// How long the title of an item gets, in characters.
const ITEM_LENGTH: usize = 200;
/// How far up from what a session works on its list is looked for.
const LEVELS: usize = 16;
/// How many items of a list are mirrored.
const ITEMS: usize = 200;

impl<N: Neighbourhood + ?Sized> Scene<'_, '_, N> {
    pub(super) fn todos(&mut self, items: &[Todo]) -> Ruling<(), N> {
        let own = self.own(None)?;
        let homes = self.homes(&own)?;
        let shared = self.shared(&own)?;
        let mut open: BTreeMap<FrameId, FrameHead> = BTreeMap::new();
        let mut home = None;
        for frame in &homes {
            let mirrored = self.ground.mirrored(&frame.id, Origin::Todo)?;
            if !mirrored.is_empty() && home.is_none() {
                home = Some(frame.clone());
            }
            open.extend(mirrored.into_iter().map(|head| (head.id.clone(), head)));
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
            let known = known.filter(|known| self.still_stands(known, item.status));
            list.push((text, item.status, known));
        }
        let home = home.filter(|home| home.status == Status::InProgress);
        let mut inserted = None;
        for (n, (text, status, known)) in list.iter().enumerate() {
            if let Some(known) = known {
                self.move_on(known, *status)?;
                inserted = None;
            } else if let Some(home) = &home
                && *status != TodoStatus::Cancelled
            {
                let behind = list.iter().skip(n + 1).filter_map(|(_, _, it)| it.as_ref());
                let rank = self.place(home, behind, inserted)?;
                inserted = rank;
                self.add(home, rank, text.clone(), *status)?;
            }
        }
        for gone in open.into_values() {
            self.drop_item(&gone, "No longer on the to-do list.")?;
        }
        Ok(())
    }

    /// The frames that the list may hang below: what the session works on, up to its own frame.
    fn homes(&self, own: &FrameHead) -> Ruling<Vec<FrameHead>, N> {
        let mut homes = Vec::new();
        let mut next = self
            .ground
            .active
            .clone()
            .filter(|active| *active != own.id);
        while let Some(id) = next.take_if(|_| homes.len() < LEVELS) {
            let head = self.ground.frame(&id)?;
            next = head.parent.clone().filter(|parent| *parent != own.id);
            homes.push(head);
        }
        homes.push(own.clone());
        Ok(homes)
    }

    /// The frames above a subagent: what is on its parent's list it does not list anew.
    fn shared(&self, own: &FrameHead) -> Ruling<Vec<FrameHead>, N> {
        let mut above = Vec::new();
        let mut next = own
            .parent
            .clone()
            .filter(|_| own.origin == Origin::Subagent);
        while let Some(id) = next.take_if(|_| above.len() < LEVELS) {
            let head = self.ground.frame(&id)?;
            next.clone_from(&head.parent);
            above.push(head);
        }
        Ok(above)
    }

    fn known_item(&self, homes: &[FrameHead], text: &Title) -> Ruling<Option<FrameHead>, N> {
        for home in homes {
            let known = self.ground.tree.todo(&home.id, text);
            if let Some(known) = known.map_err(Rejected::Unreadable)? {
                return Ok(Some(known));
            }
        }
        Ok(None)
    }

    /// Whether an item is the one that a frame stands for. One that is back on the list after it
    /// had ended is another.
    fn still_stands(&self, known: &FrameHead, status: TodoStatus) -> bool {
        match status {
            TodoStatus::Pending | TodoStatus::Active => known.status.is_open(),
            TodoStatus::Done => known.status != Status::Invalidated,
            TodoStatus::Cancelled => true,
        }
    }

    fn move_on(&mut self, known: &FrameHead, status: TodoStatus) -> Ruling<(), N> {
        match (status, known.status) {
            (TodoStatus::Active, Status::Planned) => self.start(known),
            (TodoStatus::Done, Status::Planned | Status::InProgress) => {
                if known.status == Status::Planned {
                    self.start(known)?;
                }
                // Work that somebody put below it goes on; then it stays open above it.
                let results = plain("Ticked off on the to-do list.");
                match self.ground.close(known, Closing::Completed, &results) {
                    Err(Rejected::Refused(_)) => Ok(()),
                    other => other,
                }
            }
            (TodoStatus::Cancelled, status) if status.is_open() => {
                self.drop_item(known, "Cancelled on the to-do list.")
            }
            _ => Ok(()),
        }
    }

    fn start(&mut self, item: &FrameHead) -> Ruling<(), N> {
        let parent = item.parent.as_ref().map(|id| self.ground.frame(id));
        if parent
            .transpose()?
            .is_none_or(|parent| parent.status == Status::InProgress)
        {
            self.tell(Event::FrameStarted {
                frame: item.id.clone(),
            });
        }
        Ok(())
    }

    /// The place of a new item: before the next one of the list that is there already, and behind
    /// the one that was put there just now. None, if it comes last.
    fn place<'f>(
        &self,
        home: &FrameHead,
        mut behind: impl Iterator<Item = &'f FrameHead>,
        inserted: Option<Rank>,
    ) -> Ruling<Option<Rank>, N> {
        let Some(next) = behind.find(|item| item.parent.as_ref() == Some(&home.id)) else {
            return Ok(None);
        };
        let around = self.ground.tree.ranks_around(Some(&home.id), next.rank);
        let (lower, _) = around.map_err(Rejected::Unreadable)?;
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
    ) -> Ruling<(), N> {
        let planned = status == TodoStatus::Pending;
        let id = self.derive(Some(&home.id), planned, Origin::Todo, &words::goal(text))?;
        // New frames come last; that an item belongs elsewhere is said by an event of its own.
        if let Some(rank) = rank {
            self.tell(Event::FrameMoved {
                frame: id.clone(),
                parent: Some(home.id.clone()),
                rank,
            });
        }
        if status == TodoStatus::Done {
            self.tell(super::results::completed(
                id,
                plain("Ticked off on the to-do list."),
            ));
        }
        Ok(())
    }

    fn drop_item(&mut self, item: &FrameHead, reason: &str) -> Ruling<(), N> {
        let reason = Prose::recorded(reason.to_owned());
        self.ground.invalidate(Some(&item.id), &reason)
    }
}
