//! `flame recall`

use clap::Args;
use flamestack_engine::recall::RECALL_TOKENS;
use serde_json::json;

use crate::command_context::CommandContext;
use crate::failure::Failure;
use crate::output::{Output, Progress};

/// Bring back what left the prompt: matching passages, or one frame's text
///
/// Words find passages in the journal and in raw text, best first. A frame's id prints its record in
/// short, and `ID#N` prints the N-th entry of its session in full.
#[derive(Args)]
pub(crate) struct Recall {
    /// Words to look for, a frame, or an entry of its session
    #[arg(required = true, value_name = "QUERY|FRAME[#N]")]
    words: Vec<String>,
    /// Maximum number of tokens
    #[arg(short, long, value_name = "N", default_value_t = RECALL_TOKENS)]
    tokens: usize,
}

impl Recall {
    pub(crate) fn run(self, ctx: &CommandContext, output: &mut Output) -> Result<(), Failure> {
        let query = self.words.join(" ");
        if query.trim().is_empty() {
            return Err(Failure::refused(
                "the query has no word to look for",
                "give at least one word, or a frame",
            ));
        }
        let text = Progress::during("indexing", |progress| {
            ctx.engine.recall().recall(&query, self.tokens, progress)
        })?;
        if output.is_json() {
            return output.data(&json!({ "query": query, "text": text }));
        }
        match text {
            Some(text) => output.text(&format!("{}\n", text.trim_end())),
            None => output.line("Nothing found."),
        }
    }
}
