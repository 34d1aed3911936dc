//! `flame recall`

use clap::Args;
use flamestack_engine::recall::RECALL_TOKENS;
use serde_json::json;

use crate::failure::Failure;
use crate::output::{Output, Progress};
use crate::workplace::Workplace;

/// Get back what left the prompt: passages that match, or one frame's text
///
/// Words find passages of the journal and of kept raw text, best first. A frame's id gives what is
/// recorded of it in short, and `ID#N` the N-th entry of its session in full.
#[derive(Args)]
pub(crate) struct Recall {
    /// Words to look for, a frame, or an entry of its session
    #[arg(required = true, value_name = "QUERY|FRAME[#N]")]
    words: Vec<String>,
    /// At most so many tokens
    #[arg(short, long, value_name = "N", default_value_t = RECALL_TOKENS)]
    tokens: usize,
}

impl Recall {
    pub(crate) fn run(self, place: &Workplace, output: &mut Output) -> Result<(), Failure> {
        let query = self.words.join(" ");
        if query.trim().is_empty() {
            return Err(Failure::refused(
                "there is no word to look for",
                "name at least one, or a frame",
            ));
        }
        let text = {
            let progress = Progress::new("indexing");
            let at = &mut |done, total| progress.at(done, total);
            place.engine.recall(&query, self.tokens, at)?
        };
        if output.is_json() {
            return output.data(&json!({ "query": query, "text": text }));
        }
        match text {
            Some(text) => output.text(&format!("{}\n", text.trim_end())),
            None => output.line("Nothing found."),
        }
    }
}
