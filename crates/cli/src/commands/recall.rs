//! `flame recall`

use clap::Args;
use flamestack_engine::recall::{Patience, RECALL_TOKENS};
use serde_json::json;

use crate::command_context::CommandContext;
use crate::complete;
use crate::failure::Failure;
use crate::output::{Output, Progress};

/// Retrieve text that was folded out of the prompt: matching passages, or one frame's text
///
/// Words find passages in the journal and in raw text, best first. A frame's id prints a summary of its
/// record. `ID#N` prints the N-th entry of its session, `ID#logN` its N-th raw text; if there is more
/// than fits, the last line names the next part, such as `ID#N@4096`.
#[derive(Args)]
pub(crate) struct Recall {
    /// Words to look for, a frame, or an entry of its session
    #[arg(required = true, value_name = "QUERY|FRAME[#N]", add = complete::frames())]
    words: Vec<String>,
    /// Maximum number of tokens
    #[arg(short, long, value_name = "N", default_value_t = RECALL_TOKENS)]
    tokens: usize,
}

impl Recall {
    pub(crate) fn run(self, ctx: &CommandContext, output: &mut Output) -> Result<(), Failure> {
        let query = self.words.join(" ");
        let text = Progress::during("indexing", |progress| {
            let recall = ctx.engine.recall();
            recall.recall(&query, self.tokens, Patience::Command, progress)
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
