//! `flame search`

use clap::Args;
use flamestack_engine::recall::Patience;
use flamestack_engine::views::one_line;
use serde_json::json;

use crate::command_context::CommandContext;
use crate::failure::Failure;
use crate::output::{DIM, ID, Output, Progress, painted};

/// Search titles, criteria, results, notes and raw text
///
/// Matches texts that contain all of the words, in any order and case.
#[derive(Args)]
pub(crate) struct Search {
    /// The words to look for
    #[arg(required = true)]
    words: Vec<String>,
    /// Maximum number of results
    #[arg(short, long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    /// Index everything first, however long it takes
    #[arg(long)]
    wait: bool,
}

impl Search {
    pub(crate) fn run(self, ctx: &CommandContext, output: &mut Output) -> Result<(), Failure> {
        let query = self.words.join(" ");
        let patience = if self.wait {
            Patience::Unlimited
        } else {
            Patience::Command
        };
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        let found = Progress::during("indexing", |progress| {
            let recall = ctx.engine.recall();
            recall.search(&query, limit, patience, progress)
        })?;
        if output.is_json() {
            let hits: Vec<_> = found
                .hits()
                .map(|(hit, title)| {
                    json!({
                        "frame": hit.frame.as_str(),
                        "title": title,
                        "field": hit.field,
                        "piece": hit.piece,
                        "excerpt": hit.excerpt,
                    })
                })
                .collect();
            return output.data(&json!({
                "hits": hits,
                "more": found.searched.more,
                "partial": found.partial(),
            }));
        }
        let canvas = output.canvas();
        for (hit, title) in found.hits() {
            let title = canvas.title(title, 12 + hit.field.len());
            output.line(format!(
                "{}  {title}  {}",
                painted(ID, hit.frame),
                painted(DIM, &hit.field)
            ))?;
            if hit.field != "title" {
                let excerpt = one_line(&hit.excerpt, 160);
                output.text(&canvas.paragraph("    ", &excerpt))?;
            }
        }
        if found.searched.hits.is_empty() {
            output.line("Nothing found.")?;
        } else if found.searched.more {
            output.dim("There is more: use `--limit`.")?;
        }
        if let Some(partial) = found.partial() {
            output.dim(partial)?;
        }
        Ok(())
    }
}
