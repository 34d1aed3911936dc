//! Recorded sessions of any host, whole, as they are measured and replayed.

use std::collections::BTreeMap;
use std::io::BufReader;
use std::ops::ControlFlow;

use flamestack_core::SessionRef;
use flamestack_core::transcript::Entry;
use flamestack_hosts::transcript::ctrace::Trace;
use flamestack_hosts::transcript::{About, Format, Item, ReadError, Report, Source, read};

/// A recorded session.
#[derive(Default)]
pub(super) struct Session {
    /// The program it was held in.
    pub(super) host: String,
    /// Who published it, or the folder that it ran in.
    pub(super) source: String,
    /// What was said and done.
    pub(super) entries: Vec<Entry>,
    /// The files that whoever recorded it saw change.
    pub(super) touched: Vec<String>,
}

/// The sessions of a file, and what of it could not be read.
pub(super) fn sessions(source: &Source) -> Result<(Vec<Session>, Report), ReadError> {
    if source.format == Format::Ctrace {
        let file = BufReader::new(fs_err::File::open(&source.path)?);
        let trace = Trace::read(file, None)?;
        let session = Session {
            host: trace.header.host,
            source: trace.header.source,
            entries: trace.events.into_iter().map(|(_, entry)| entry).collect(),
            touched: trace.header.touched,
        };
        return Ok((vec![session], Report::default()));
    }
    let mut gathered = Gathered::default();
    let report = read(source, &mut |item, _| {
        gathered.take(item);
        ControlFlow::Continue(())
    })?;
    Ok((gathered.all, report))
}

/// Sessions being read. What was said in the session of a subagent becomes part of its parent's, as
/// where hosts record both in one.
#[derive(Default)]
struct Gathered {
    all: Vec<Session>,
    /// For every session, whose it is part of, and as which subagent.
    places: BTreeMap<SessionRef, (usize, Option<String>)>,
    current: Option<(usize, Option<String>)>,
}

impl Gathered {
    fn take(&mut self, item: Item) {
        match item {
            Item::Session(about) => self.current = Some(self.place(about)),
            Item::Entry(mut entry) => {
                let Some((at, agent)) = &self.current else {
                    return;
                };
                if entry.agent.is_none() {
                    entry.agent.clone_from(agent);
                }
                if let Some(session) = self.all.get_mut(*at) {
                    session.entries.push(*entry);
                }
            }
            Item::Ended(_) => self.current = None,
        }
    }

    fn place(&mut self, about: About) -> (usize, Option<String>) {
        if let Some(place) = self.places.get(&about.session) {
            return place.clone();
        }
        let above = about.parent.and_then(|parent| self.places.get(&parent));
        let place = if let Some((root, _)) = above {
            (*root, Some(about.session.id().to_owned()))
        } else {
            self.all.push(Session {
                host: about.session.host().to_owned(),
                source: about.directory.unwrap_or_default(),
                ..Session::default()
            });
            (self.all.len() - 1, None)
        };
        self.places.insert(about.session, place.clone());
        place
    }
}
