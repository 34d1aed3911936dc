//! Recorded sessions of any host, read whole for `flame eval` and `flame replay`.

use std::collections::BTreeMap;
use std::io::BufReader;
use std::ops::ControlFlow;

use flamestack_core::SessionRef;
use flamestack_core::transcript::Entry;
use flamestack_hosts::recordings::ctrace::Trace;
use flamestack_hosts::recordings::{
    ReadReport, RecordedSession, RecordingError, RecordingFile, RecordingFormat, TranscriptItem,
    read,
};

/// A recorded session.
#[derive(Default)]
pub(super) struct Session {
    /// Name of the host program.
    pub(super) host: String,
    /// Publisher of the recording, or the folder the session ran in.
    pub(super) source: String,
    /// The entries, in order.
    pub(super) entries: Vec<Entry>,
    /// Files that changed, according to the recorder.
    pub(super) touched: Vec<String>,
}

/// Reads the sessions of a file, with a report of what could not be read.
pub(super) fn sessions(
    source: &RecordingFile,
) -> Result<(Vec<Session>, ReadReport), RecordingError> {
    if source.format == RecordingFormat::Ctrace {
        let file = BufReader::new(fs_err::File::open(&source.path)?);
        let trace = Trace::read(file, None)?;
        let session = Session {
            host: trace.header.host,
            source: trace.header.source,
            entries: trace.events.into_iter().map(|(_, entry)| entry).collect(),
            touched: trace.header.touched,
        };
        return Ok((vec![session], ReadReport::default()));
    }
    let mut gathered = Gathered::default();
    let report = read(source, &mut |item, _| {
        gathered.take(item);
        ControlFlow::Continue(())
    })?;
    Ok((gathered.all, report))
}

/// Sessions being read. The entries of a subagent's session become part of its parent's, as in
/// hosts that record both in one file.
#[derive(Default)]
struct Gathered {
    all: Vec<Session>,
    /// Index of the root session and subagent name, for every session seen.
    places: BTreeMap<SessionRef, (usize, Option<String>)>,
    current: Option<(usize, Option<String>)>,
}

impl Gathered {
    fn take(&mut self, item: TranscriptItem) {
        match item {
            TranscriptItem::Session(about) => self.current = Some(self.place(about)),
            TranscriptItem::Entry(mut entry) => {
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
            TranscriptItem::Ended(_) => self.current = None,
        }
    }

    fn place(&mut self, about: RecordedSession) -> (usize, Option<String>) {
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
