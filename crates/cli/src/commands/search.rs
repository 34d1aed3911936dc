//! `flame search`

use clap::Args;
use flamestack_engine::views::one_line;
use serde_json::json;

use crate::failure::Failure;
use crate::output::{DIM, ID, Output, Progress, painted};
use crate::workplace::Workplace;

/// Search titles, criteria, results, notes and raw text
///
/// A text is found when it holds all words, anywhere, in upper or lower case.
#[derive(Args)]
pub(crate) struct Search {
    /// The words to look for
    #[arg(required = true)]
    words: Vec<String>,
    /// At most so many finds
    #[arg(short, long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
}

impl Search {
    pub(crate) fn run(self, place: &Workplace, output: &mut Output) -> Result<(), Failure> {
        let query = self.words.join(" ");
        if query.trim().is_empty() {
            return Err(Failure::refused(
                "there is no word to look for",
                "name at least one",
            ));
        }
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        let found = {
            let progress = Progress::new("indexing");
            place.engine.search(&query, limit, &mut |done, total| {
                progress.at(done, total);
            })?
        };
        let hits = || found.searched.hits.iter().zip(&found.titles);
        if output.is_json() {
            let hits: Vec<_> = hits()
                .map(|(hit, title)| {
                    json!({
                        "frame": hit.frame.as_str(),
                        "title": title,
                        "field": hit.field,
                        "excerpt": hit.excerpt,
                    })
                })
                .collect();
            return output.data(&json!({ "hits": hits, "more": found.searched.more }));
        }
        for (hit, title) in hits() {
            output.line(format!(
                "{}  {}  {}",
                painted(ID, &hit.frame),
                one_line(title, 72),
                painted(DIM, &hit.field)
            ))?;
            if hit.field != "title" {
                output.line(format!("    {}", one_line(&hit.excerpt, 160)))?;
            }
        }
        if found.searched.hits.is_empty() {
            output.line("Nothing found.")?;
        } else if found.searched.more {
            output.line(painted(DIM, "There is more: use `--limit`."))?;
        }
        Ok(())
    }
}
