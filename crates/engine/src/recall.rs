//! Search and recall: text that left the prompt, returned in parts that fit into it.
//!
//! Nothing here holds the store while it computes: each piece of indexing and each read takes a
//! snapshot of its own. The work of one call is bounded, whatever was recorded.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use flamestack_core::{FrameId, SessionRef};
use flamestack_extract::tokens::{Tokenizer, prefix};
use flamestack_store::{
    Hit, Index, IndexBudget, Indexed, OpenIndex, Reading, SearchQuery, Searched, StoreError,
    transcript,
};

use crate::Engine;
use crate::error::{EngineError, Result};
use crate::summaries::RESULT_TOKENS;
use crate::views::story::noted;
use crate::views::{details, grouped, printable};
use crate::workspace::lock;

/// Default length of a recalled text, in tokens.
pub const RECALL_TOKENS: usize = 1500;
/// Maximum length of a recalled text, in tokens; the rest follows in further parts.
pub const MAX_RECALL_TOKENS: usize = 50_000;
/// Upper bound for the bytes of one token in readable text.
const BYTES_PER_TOKEN: usize = 32;
/// Maximum number of passages that a search for recall returns.
const PASSAGES: usize = 60;

/// Searches and recalls what left the prompt.
#[derive(Clone, Copy)]
pub struct Recall<'e> {
    pub(crate) engine: &'e Engine,
    /// Set once the caller is gone, if it can go before its answer.
    pub(crate) is_gone: Option<&'e AtomicBool>,
}

/// The amount of indexing that a search does before it answers from what is indexed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// A fraction of a second: a model waits.
    Request,
    /// A fraction of a second: a user waits, and may ask again.
    Command,
    /// All of it.
    Unlimited,
}

impl Patience {
    /// Returns the work that may be done. It is counted rather than timed, so that the same search
    /// has the same answer everywhere; the time only matters on a machine that is very slow.
    fn budget(self) -> IndexBudget {
        let (events, bytes, seconds) = match self {
            Self::Request => (500, 512 * 1024, 1),
            Self::Command => (20_000, 1024 * 1024, 1),
            Self::Unlimited => {
                return IndexBudget {
                    events: usize::MAX,
                    bytes: usize::MAX,
                    until: None,
                };
            }
        };
        IndexBudget {
            events,
            bytes,
            until: Some(Instant::now() + Duration::from_secs(seconds)),
        }
    }
}

/// The state of indexing in this process.
#[derive(Default)]
pub(crate) struct Indexing {
    /// True once the callers of searches are gone.
    stop: AtomicBool,
    /// True if a search found the index incomplete.
    wanted: Mutex<bool>,
    signal: Condvar,
}

impl Indexing {
    fn want(&self) {
        *lock(&self.wanted) = true;
        self.signal.notify_all();
    }
}

/// Results of a search.
#[derive(Clone, Debug, Default)]
pub struct SearchResults {
    /// The hits, best first.
    pub searched: Searched,
    /// Title of each hit's frame.
    pub titles: Vec<String>,
    /// The part of the journal that was searched.
    pub indexed: Indexed,
}

impl SearchResults {
    /// Returns the hits with the titles of their frames.
    pub fn hits(&self) -> impl Iterator<Item = (&Hit, &str)> {
        let titles = self.titles.iter().map(String::as_str);
        self.searched.hits.iter().zip(titles)
    }

    /// Says why results may be missing, unless everything was searched.
    pub fn partial(&self) -> Option<String> {
        if !self.indexed.is_whole() {
            // No share: the events of a frame with long texts are indexed with the last of them.
            let unfinished = "Partial: not all texts are indexed yet; search again for the rest.";
            return Some(unfinished.to_owned());
        }
        let limit = "Partial: the search reached its limit; longer or more words narrow it down.";
        self.searched.is_cut_short.then(|| limit.to_owned())
    }
}

impl<'e> Recall<'e> {
    /// Returns a handle whose searches end early once `is_gone` is set.
    #[must_use]
    pub fn for_caller(self, is_gone: &'e AtomicBool) -> Self {
        Self {
            is_gone: Some(is_gone),
            ..self
        }
    }

    /// Returns true if no caller waits for an answer any more.
    fn is_unwanted(&self) -> bool {
        self.engine.indexing.stop.load(Ordering::Relaxed)
            || self
                .is_gone
                .is_some_and(|gone| gone.load(Ordering::Relaxed))
    }

    /// Finds texts that contain all words of a query. `progress` is called while the index catches
    /// up with the journal.
    pub fn search(
        &self,
        query: &str,
        limit: usize,
        patience: Patience,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<SearchResults> {
        let query = SearchQuery::new(query)?;
        // Do not create an index for a project without a store.
        if self.engine.workspace.is_empty() {
            return Ok(SearchResults::default());
        }
        let index = Index::new(&self.engine.project().dir);
        let mut index = index.open()?;
        let mut indexed = self.index(&mut index, patience.budget(), progress)?;
        let mut found = index.search(&query, limit, &|| self.is_unwanted())?;
        if found.is_none() {
            // The index was damaged; a new one answers.
            indexed = self.index(&mut index, patience.budget(), progress)?;
            found = index.search(&query, limit, &|| self.is_unwanted())?;
        }
        if !indexed.is_whole() {
            self.engine.indexing.want();
        }
        let mut searched = found.unwrap_or_default();
        if self.is_unwanted() {
            return Err(EngineError::Cancelled);
        }
        let titles = self.engine.read(|reading| {
            let title = |hit: &Hit| -> Result<Option<String>, StoreError> {
                let frame = reading.frame(&hit.frame)?;
                Ok(frame.map(|frame| frame.title.as_str().to_owned()))
            };
            let titles: Result<Vec<_>, _> = searched.hits.iter().map(title).collect();
            Ok(titles?)
        })?;
        // A frame that was undone since is in the index for a little longer.
        let mut exists = titles.iter().map(Option::is_some);
        searched.hits.retain(|_| exists.next().unwrap_or_default());
        Ok(SearchResults {
            searched,
            titles: titles.into_iter().flatten().collect(),
            indexed,
        })
    }

    /// Indexes what is not indexed yet, as far as the budget allows, each step on a snapshot of its
    /// own.
    fn index(
        &self,
        index: &mut OpenIndex<'_>,
        mut budget: IndexBudget,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Indexed> {
        let blobs = self.engine.blobs();
        loop {
            let step =
                self.engine.read(
                    |reading| match index.advance(reading, &blobs, &mut budget) {
                        // Another process or thread is indexing.
                        Err(StoreError::Busy) => Ok((index.indexed(reading)?, true)),
                        other => Ok((other?, false)),
                    },
                );
            let (indexed, is_busy) = step?;
            progress(indexed.done.0.unsigned_abs(), indexed.end.0.unsigned_abs());
            if indexed.is_whole() || is_busy || self.is_unwanted() || budget.is_spent() {
                return Ok(indexed);
            }
        }
    }

    /// Brings the index up to date whenever a search found it incomplete, until [`Recall::stop`].
    /// For a thread of its own: no request waits for it.
    pub fn keep_indexed(&self) {
        let indexing = &self.engine.indexing;
        loop {
            let wanted = lock(&indexing.wanted);
            let is_idle = |wanted: &mut bool| !*wanted && !indexing.stop.load(Ordering::Relaxed);
            let mut wanted = indexing
                .signal
                .wait_while(wanted, is_idle)
                .unwrap_or_else(PoisonError::into_inner);
            *wanted = false;
            drop(wanted);
            if indexing.stop.load(Ordering::Relaxed) {
                return;
            }
            let index = Index::new(&self.engine.project().dir);
            let indexed = index.open().map_err(EngineError::from);
            let indexed = indexed.and_then(|mut index| {
                self.index(&mut index, Patience::Unlimited.budget(), &mut |_, _| {})
            });
            if let Err(error) = indexed {
                self.engine.report_later(&error);
                tracing::warn!("not indexed: {error}");
            }
        }
    }

    /// Ends searches and indexing in this process: their callers are gone.
    pub fn stop(&self) {
        let indexing = &self.engine.indexing;
        let wanted = lock(&indexing.wanted);
        indexing.stop.store(true, Ordering::Relaxed);
        indexing.signal.notify_all();
        drop(wanted);
    }

    /// Returns at most `limit` tokens of text, or `None` if nothing is found:
    ///
    /// - for the name of a frame, a summary of its record and then its transcript;
    /// - for `ID#n`, the n-th entry of the frame's session, and for `ID#logn` the n-th raw text of
    ///   the frame; `@position` at the end begins further on;
    /// - for anything else, passages that contain the words of the query, best first.
    pub fn recall(
        &self,
        query: &str,
        limit: usize,
        patience: Patience,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Option<String>> {
        let query = query.trim();
        let limit = limit.min(MAX_RECALL_TOKENS);
        if let Some(piece) = Piece::parse(query)
            && let Ok(frame) = self.engine.frame_named(piece.frame)
        {
            return self.piece(&frame, &piece, limit).map(Some);
        }
        if !query.is_empty()
            && !query.contains(char::is_whitespace)
            && let Ok(frame) = self.engine.frame_named(query)
        {
            return self.frame(&frame, limit).map(Some);
        }
        let results = self.search(query, PASSAGES, patience, progress)?;
        let mut blocks: Vec<String> = results.hits().map(block).collect();
        blocks.extend(results.partial().map(|partial| partial + "\n"));
        let text = self
            .engine
            .counting(|tokenizer| joined(&blocks, limit, tokenizer));
        Ok((!text.is_empty()).then_some(text))
    }

    /// Renders a frame: its goal, results and notes, the names that came up, and then the beginning
    /// of its transcript.
    fn frame(&self, frame: &FrameId, limit: usize) -> Result<String> {
        let mut text = self.engine.read(|reading| {
            let details = details::gather(reading, frame)?;
            let frame = &details.frame;
            let mut text = format!("{} {} ({})\n", frame.id, frame.title, frame.status);
            if let Some(criteria) = &frame.criteria {
                text.push_str(&format!("Done when: {criteria}\n"));
            }
            if let Some(results) = &frame.results {
                text.push_str(&format!("Results: {results}\n"));
            }
            let most = limit.saturating_mul(BYTES_PER_TOKEN);
            for note in &frame.notes {
                if text.len() > most {
                    return Ok(text);
                }
                text.push_str(&format!("{}\n", noted(note)));
            }
            for row in &details.children {
                let child = &row.frame;
                text.push_str(&format!(
                    "{} {} ({})\n",
                    child.id, child.title, child.status
                ));
            }
            Ok(text)
        })?;
        let summaries = self.engine.summaries();
        if let Some(result) = summaries.derived_result(frame, RESULT_TOKENS.max(limit / 2))? {
            text.push_str("\nFrom its log:\n");
            text.push_str(&result);
        }
        let transcript =
            summaries.transcript_start(frame, limit.saturating_mul(BYTES_PER_TOKEN))?;
        if !transcript.is_empty() {
            text.push_str("\n## Transcript\n\n");
        }
        let text = text + &transcript;
        Ok(self.engine.counting(|tokenizer| {
            let shown = cut_printable(&text, limit, tokenizer);
            if shown.len() == text.len() {
                return printable(shown);
            }
            let more =
                format!("\n[cut: more with `tokens` above {limit}, or {frame}#n for entry n]\n");
            let room = limit.saturating_sub(tokenizer.count(&more));
            if room == 0 {
                return printable(shown);
            }
            printable(cut_printable(&text, room, tokenizer)) + &more
        }))
    }

    /// Renders an entry of the session that a frame belongs to, or one of the frame's raw texts.
    fn piece(&self, frame: &FrameId, piece: &Piece<'_>, limit: usize) -> Result<String> {
        let number = piece.number;
        let name = match piece.kind {
            PieceKind::Entry => format!("{frame}#{number}"),
            PieceKind::RawText => format!("{frame}#log{number}"),
        };
        let text = match piece.kind {
            PieceKind::Entry => self.entry(frame, number)?,
            PieceKind::RawText => self.engine.logs().raw_text(frame, number)?,
        };
        // Some entries have no text: the end of a turn, a change of model.
        if text.trim().is_empty() {
            return Ok(format!("[{name} is an entry without text]\n"));
        }
        let page = |tokenizer: &dyn Tokenizer| page(&text, &name, piece.position, limit, tokenizer);
        Ok(self.engine.counting(page))
    }

    /// Returns an entry of the session that a frame belongs to as Markdown.
    fn entry(&self, frame: &FrameId, number: usize) -> Result<String> {
        let session = self.engine.read(|reading| session_of(reading, frame))?;
        let mut entries = 0;
        let mut found = None;
        let mut goes_on = false;
        if let Some(session) = session {
            let summaries = self.engine.summaries();
            goes_on = summaries.visit_lines(&session, &mut |line| {
                entries += 1;
                if entries == number {
                    found = Some(transcript::whole_markdown(line));
                }
                entries != number
            })?;
        }
        let id = *frame;
        found.ok_or(if goes_on {
            EngineError::EntryTooFar { id, number }
        } else {
            EngineError::NoSuchEntry {
                id,
                number,
                entries,
            }
        })
    }
}

/// A piece of recorded text by its name.
struct Piece<'q> {
    frame: &'q str,
    kind: PieceKind,
    number: usize,
    /// Number of bytes to skip.
    position: usize,
}

#[derive(Clone, Copy)]
enum PieceKind {
    Entry,
    RawText,
}

impl<'q> Piece<'q> {
    /// Parses `FRAME#3`, `FRAME#log3` and either with a position, such as `FRAME#3@2048`.
    fn parse(query: &'q str) -> Option<Self> {
        let (frame, piece) = query.rsplit_once('#')?;
        let (number, position) = match piece.split_once('@') {
            Some((number, position)) => (number, position.parse().ok()?),
            None => (piece, 0),
        };
        let (kind, number) = match number.strip_prefix("log") {
            Some(number) => (PieceKind::RawText, number),
            None => (PieceKind::Entry, number),
        };
        Some(Self {
            frame,
            kind,
            number: number.parse().ok()?,
            position,
        })
    }
}

/// Renders a passage with its frame, and the name of the text that it is from.
fn block((hit, title): (&Hit, &str)) -> String {
    let Hit { frame, field, .. } = hit;
    let place = match hit.piece {
        Some(piece) => format!("{field}; more: {frame}#log{piece}@{}", hit.position),
        None => field.clone(),
    };
    let (title, passage) = (printable(title), printable(&hit.passage));
    format!("{frame} {title} ({place})\n{}\n", passage.trim_end())
}

/// Renders the part of a text that begins at a position, and says how to get the next one.
fn page(
    text: &str,
    name: &str,
    position: usize,
    limit: usize,
    tokenizer: &dyn Tokenizer,
) -> String {
    let start = text.ceil_char_boundary(position.min(text.len()));
    let rest = text.get(start..).unwrap_or_default();
    if rest.is_empty() {
        let length = grouped(text.len() as u64);
        return format!("[{name} ends before {position}: it has {length} bytes]\n");
    }
    let shown = cut_printable(rest, limit, tokenizer);
    if shown.len() == rest.len() {
        return printable(shown);
    }
    let next = |end: usize| {
        let total = text.len();
        format!("\n[bytes {start} to {end} of {total}; the next part is {name}@{end}]\n")
    };
    let room = limit.saturating_sub(tokenizer.count(&next(text.len())));
    let shown = cut_printable(rest, room, tokenizer);
    // However small the limit is, the next part begins further on.
    let shown = if shown.is_empty() {
        rest.get(..rest.ceil_char_boundary(1)).unwrap_or_default()
    } else {
        shown
    };
    printable(shown) + &next(start + shown.len())
}

/// Cuts a text to what fits once it is printable.
fn cut_printable<'a>(text: &'a str, limit: usize, tokenizer: &dyn Tokenizer) -> &'a str {
    prefix(text, limit, &|text| tokenizer.count(&printable(text)))
}

/// Returns the session whose own frame is `frame` or one above it.
fn session_of(reading: &dyn Reading, frame: &FrameId) -> Result<Option<SessionRef>> {
    let sessions = reading.sessions(false)?;
    let mut here = Some(*frame);
    while let Some(frame) = here {
        let own = sessions
            .iter()
            .find(|session| session.own.as_ref() == Some(&frame));
        if let Some(session) = own {
            return Ok(Some(session.key.clone()));
        }
        here = reading.frame(&frame)?.and_then(|frame| frame.parent);
    }
    Ok(None)
}

/// Joins the blocks that fit. The first one is cut rather than left out.
fn joined(blocks: &[String], limit: usize, tokenizer: &dyn Tokenizer) -> String {
    let mut text = String::new();
    for block in blocks {
        let longer = format!("{text}{block}");
        if tokenizer.count(&longer) > limit {
            if text.is_empty() {
                return cut(block, limit, tokenizer);
            }
            continue;
        }
        text = longer;
    }
    text
}

fn cut(text: &str, limit: usize, tokenizer: &dyn Tokenizer) -> String {
    prefix(text, limit, &|text| tokenizer.count(text)).to_owned()
}
