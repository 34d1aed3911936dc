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
    #[arg(long, value_name = "SIZE")]
    max_size: Option<String>,
    /// Only say what would go
    #[arg(short = 'n', long)]
    dry_run: bool,
}

impl Gc {
    pub(crate) fn run(self, place: &Workplace, output: &mut Output) -> Result<(), Failure> {
        let limit = match &self.max_size {
            Some(text) => settings::size("--max-size", text)?,
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
        output.line(format!(
            "{} kB of {} kB {}",
            grouped(after.total() / 1000),
            grouped(limit / 1000),
            painted(
                DIM,
                format!("(before: {} kB)", grouped(plan.before.total() / 1000))
            )
        ))?;
        if after.journal > limit {
            output.notice(&format!(
                "the journal alone takes {} kB: it is never cut, so raise `gc.max_size` or `flame export` and begin anew",
                grouped(after.journal / 1000)
            ))?;
        } else if over {
            output.notice(
                "what is left belongs to open frames: finish some, or raise `gc.max_size`",
            )?;
        }
        Ok(())
    }
}
