//! Search and recall: text that left the prompt, returned in parts that fit into it.

use flamestack_core::{FrameId, SessionRef};
use flamestack_extract::tokens::{Tokenizer, prefix};
use flamestack_store::{Index, Reading, Searched, StoreError, transcript};

use crate::Engine;
use crate::error::{EngineError, Result};
use crate::summaries::RESULT_TOKENS;
use crate::views::story::noted;
use crate::views::{details, printable};

/// Default length of a recalled text, in tokens.
pub const RECALL_TOKENS: usize = 1500;
/// Upper bound for the bytes of one token in readable text.
const BYTES_PER_TOKEN: usize = 32;
/// Maximum number of passages that a search for recall returns.
const PASSAGES: usize = 60;

/// Searches and recalls what left the prompt.
#[derive(Clone, Copy)]
pub struct Recall<'e> {
    pub(crate) engine: &'e Engine,
}

/// Results of a search.
#[derive(Clone, Debug, Default)]
pub struct SearchResults {
    /// The hits, best first.
    pub searched: Searched,
    /// Title of each hit's frame.
    pub titles: Vec<String>,
}

impl Recall<'_> {
    /// Finds texts that contain all words of a query. `progress` is called while the index catches
    /// up with the journal.
    pub fn search(
        &self,
        query: &str,
        limit: usize,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<SearchResults> {
        // An empty index would be the first trace of a project that has no store.
        if self.engine.workspace.is_empty() {
            return Ok(SearchResults::default());
        }
        let index = Index::new(&self.engine.project().dir);
        let blobs = self.engine.blobs();
        self.engine.read(|reading| {
            let searched = index.search(reading, &blobs, query, limit, progress)?;
            let title = |frame: &FrameId| -> Result<String, StoreError> {
                let frame = reading.frame(frame)?;
                Ok(frame
                    .map(|frame| frame.title.as_str().to_owned())
                    .unwrap_or_default())
            };
            let titles = searched.hits.iter().map(|hit| title(&hit.frame));
            let titles = titles.collect::<Result<_, _>>()?;
            Ok(SearchResults { searched, titles })
        })
    }

    /// Returns at most `limit` tokens of text, or `None` if nothing is found:
    ///
    /// - for the name of a frame, its record in short and then its transcript;
    /// - for `ID#n`, the n-th entry of the frame's session in full;
    /// - for anything else, passages that contain the words of the query, best first.
    pub fn recall(
        &self,
        query: &str,
        limit: usize,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Option<String>> {
        let query = query.trim();
        if let Some((name, number)) = query.rsplit_once('#')
            && let Ok(number) = number.parse::<usize>()
            && let Ok(frame) = self.engine.frame_named(name)
        {
            return self.entry(&frame, number, limit);
        }
        if !query.contains(char::is_whitespace)
            && let Ok(frame) = self.engine.frame_named(query)
        {
            return self.frame(&frame, limit).map(Some);
        }
        let results = self.search(query, PASSAGES, progress)?;
        let passages = results.searched.hits.iter().zip(&results.titles);
        let blocks: Vec<String> = passages
            .map(|(hit, title)| {
                format!(
                    "{} {} ({})\n{}\n",
                    hit.frame,
                    printable(title),
                    hit.field,
                    printable(&hit.passage)
                )
            })
            .collect();
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
            for note in &frame.notes {
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
        let text = printable(&(text + &transcript));
        Ok(self.engine.counting(|tokenizer| {
            if tokenizer.count(&text) <= limit {
                return text.clone();
            }
            let more =
                format!("\n[cut: more with `tokens` above {limit}, or {frame}#n for entry n]\n");
            let room = limit.saturating_sub(tokenizer.count(&more));
            if room == 0 {
                return cut(&text, limit, tokenizer);
            }
            cut(&text, room, tokenizer) + &more
        }))
    }

    /// Renders an entry of the session that a frame belongs to.
    fn entry(&self, frame: &FrameId, number: usize, limit: usize) -> Result<Option<String>> {
        let session = self.engine.read(|reading| session_of(reading, frame))?;
        let entries = match session {
            Some(session) => self.engine.summaries().transcript(&session)?,
            None => Vec::new(),
        };
        let Some(entry) = number.checked_sub(1).and_then(|at| entries.get(at)) else {
            return Err(EngineError::NoSuchEntry {
                id: *frame,
                number,
                entries: entries.len(),
            });
        };
        let text = printable(&transcript::markdown(&transcript::encode(entry)));
        // Some entries have no text: the end of a turn, a change of model.
        if text.trim().is_empty() {
            return Ok(Some(format!(
                "[{frame}#{number} is an entry without text]\n"
            )));
        }
        Ok(Some(
            self.engine
                .counting(|tokenizer| cut(&text, limit, tokenizer)),
        ))
    }
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
