//! `flame gc`

use clap::Args;
use flamestack_engine::settings;
use flamestack_engine::views::{counted, grouped};
use serde_json::json;

use crate::failure::Failure;
use crate::output::{DIM, Output, painted};
use crate::workplace::Workplace;

/// Keep the project's files under a size
///
/// Drops the search index and rendered logs first, then the raw text of the oldest finished
/// frames. Each dropped text leaves a tombstone. The journal is never cut.
#[derive(Args)]
pub(crate) struct Gc {
    /// The size to stay under (default: the setting `gc.max_size`)
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_size: Option<u64>,
    /// Only say what would go
    #[arg(short = 'n', long)]
    dry_run: bool,
}

impl Gc {
    pub(crate) fn run(self, place: &Workplace, output: &mut Output) -> Result<(), Failure> {
        let limit = match self.max_size {
            Some(limit) => limit,
            None => place.settings.size("gc.max_size")?,
        };
        let plan = place.engine.plan_collection(limit)?;
        if !self.dry_run {
            place.engine.collect(&place.actor, &plan)?;
        }
        let after = if self.dry_run {
            plan.after
        } else {
            flamestack_store::sizes(&place.engine.project().dir)?
        };
        let over = after.total() > limit;
        if output.is_json() {
            return output.data(&json!({
                "dryRun": self.dry_run,
                "limit": limit,
                "before": plan.before.total(),
                "after": after.total(),
                "journal": after.journal,
                "droppedIndex": plan.drop_index,
                "droppedTexts": plan.drop_blobs.len(),
                "orphans": plan.orphans.len(),
                "overLimit": over,
            }));
        }
        let would = if self.dry_run { "would go" } else { "gone" };
        if plan.drop_index {
            output.line(format!(
                "{would}: search index and rendered logs (made again when needed)"
            ))?;
        }
        if !plan.drop_blobs.is_empty() {
            let texts = counted(plan.drop_blobs.len() as u64, "raw text", "raw texts");
            output.line(format!("{would}: {texts} of finished frames"))?;
        }
        if !plan.orphans.is_empty() {
            let texts = counted(plan.orphans.len() as u64, "raw text", "raw texts");
            output.line(format!("{would}: {texts} that no frame speaks of"))?;
        }
        let than = if over { "over the limit of" } else { "of" };
        output.line(format!(
            "{} {than} {} {}",
            in_words(after.total()),
            in_words(limit),
            painted(DIM, format!("(before: {})", in_words(plan.before.total())))
        ))?;
        if after.journal > limit {
            output.notice(&format!(
                "the journal alone takes {}: it is never cut, so allow more (`--max-size`, the setting `gc.max_size`) or `flame export` and begin anew",
                in_words(after.journal)
            ))?;
        } else if over {
            output.notice(
                "what is left belongs to open frames: finish some, or allow more (`--max-size`, the setting `gc.max_size`)",
            )?;
        }
        Ok(())
    }
}

/// A size as it is typed.
fn size(text: &str) -> Result<u64, &'static str> {
    settings::size(text).ok_or("a size is a whole number with a unit, such as `50 MB`")
}

/// A size as it is read.
fn in_words(bytes: u64) -> String {
    if bytes < 1000 {
        counted(bytes, "byte", "bytes")
    } else {
        format!("{} kB", grouped(bytes / 1000))
    }
}
