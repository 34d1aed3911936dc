//! Recall: what left the prompt, got back in pieces that fit.

use flamestack_core::id::FrameId;
use flamestack_core::tokens::{Tokenizer, prefix};
use flamestack_store::{Reading, transcript};

use crate::Engine;
use crate::error::EngineError;
use crate::resume::RESULT_TOKENS;
use crate::views::story::noted;
use crate::views::{details, printable};

/// How much is recalled where nothing else is said.
pub const RECALL_TOKENS: usize = 1500;
/// More bytes than a token ever stands for in text that is worth reading.
const BYTES_A_TOKEN: usize = 32;
/// So many passages are looked at.
const PASSAGES: usize = 60;

impl Engine {
    /// Passages that hold the words of a query, best first; or, if the query is the name of a frame,
    /// what is recorded of that frame in short and then what was said and done in it; or, for `ID#n`, the n-th entry of the frame's
    /// session in full. At most `limit` tokens; nothing, if nothing is found.
    pub fn recall(
        &self,
        query: &str,
        limit: usize,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Option<String>, EngineError> {
        let query = query.trim();
        if let Some((name, number)) = query.rsplit_once('#')
            && let Ok(number) = number.parse::<usize>()
            && let Ok(frame) = self.frame_named(name)
        {
            return self.entry_of(&frame, number, limit);
        }
        if !query.contains(char::is_whitespace)
            && let Ok(frame) = self.frame_named(query)
        {
            return self.folded(&frame, limit).map(Some);
        }
        let found = self.search(query, PASSAGES, progress)?;
        let passages = found.searched.hits.iter().zip(&found.titles);
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
        let text = self.counting(|tokenizer| joined(&blocks, limit, tokenizer));
        Ok((!text.is_empty()).then_some(text))
    }

    /// What stands for a frame: goal, results, what was learned, and the names that came up; behind
    /// it the text that is folded away, as far as there is room for it.
    fn folded(&self, frame: &FrameId, limit: usize) -> Result<String, EngineError> {
        let mut text = self.read(|reading| {
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
        if let Some(result) = self.derived_result(frame, RESULT_TOKENS.max(limit / 2))? {
            text.push_str("\nFrom its log:\n");
            text.push_str(&result);
        }
        let told = self.told_in(frame, limit.saturating_mul(BYTES_A_TOKEN))?;
        if !told.is_empty() {
            text.push_str("\n## What was said and done\n\n");
        }
        let text = printable(&(text + &told));
        Ok(self.counting(|tokenizer| {
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

    /// An entry of the session that a frame belongs to.
    fn entry_of(
        &self,
        frame: &FrameId,
        number: usize,
        limit: usize,
    ) -> Result<Option<String>, EngineError> {
        let session = self.read(|reading| session_of(reading, frame))?;
        let entries = match session {
            Some(session) => self.said_in(&session)?,
            None => Vec::new(),
        };
        let Some(entry) = number.checked_sub(1).and_then(|at| entries.get(at)) else {
            return Err(EngineError::NoSuchEntry {
                id: frame.clone(),
                number,
                entries: entries.len(),
            });
        };
        let text = printable(&transcript::markdown(&transcript::encode(entry)));
        // A turn that ended, a model that was named: there are entries without words.
        if text.trim().is_empty() {
            return Ok(Some(format!(
                "[{frame}#{number} is an entry without words]\n"
            )));
        }
        Ok(Some(
            self.counting(|tokenizer| cut(&text, limit, tokenizer)),
        ))
    }
}

/// The session whose own frame a frame is, or lies below.
fn session_of(
    reading: &dyn Reading,
    frame: &FrameId,
) -> Result<Option<flamestack_core::SessionRef>, EngineError> {
    let sessions = reading.sessions(false)?;
    let mut here = Some(frame.clone());
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

/// The first blocks that fit; the first of all is cut rather than left out.
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
