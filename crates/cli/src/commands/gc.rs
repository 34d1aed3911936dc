//! `flame gc`

use clap::Args;
use flamestack_engine::settings;
use flamestack_engine::views::{counted, size};
use serde_json::json;

use crate::command_context::CommandContext;
use crate::failure::Failure;
use crate::output::{DIM, Output, painted};

/// Shrink the project's files below a size limit
///
/// Deletes the search index and rendered logs first, then the raw text of the oldest finished
/// frames. Each deleted text leaves a tombstone. The journal is never cut.
#[derive(Args)]
pub(crate) struct Gc {
    /// The size limit (default: the setting `gc.max_size`)
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    max_size: Option<u64>,
    /// Print what would be deleted without deleting it
    #[arg(short = 'n', long)]
    dry_run: bool,
}

impl Gc {
    pub(crate) fn run(self, ctx: &CommandContext, output: &mut Output) -> Result<(), Failure> {
        let max = match self.max_size {
            Some(limit) => limit,
            None => ctx.settings.size("gc.max_size")?,
        };
        let plan = ctx.engine.maintenance().plan_collection(max)?;
        if !self.dry_run {
            ctx.engine.maintenance().collect(&ctx.actor, &plan)?;
        }
        let after = if self.dry_run {
            plan.after
        } else {
            flamestack_store::sizes(&ctx.engine.project().dir)?
        };
        let over = after.total() > max;
        if output.is_json() {
            return output.data(&json!({
                "dryRun": self.dry_run,
                "limit": max,
                "before": plan.before.total(),
                "after": after.total(),
                "journal": after.journal,
                "droppedIndex": plan.drop_index,
                "droppedTexts": plan.drop_blobs.len(),
                "orphans": plan.orphans.len(),
                "overLimit": over,
            }));
        }
        let would = if self.dry_run {
            "would delete"
        } else {
            "deleted"
        };
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
            output.line(format!("{would}: {texts} that no frame refers to"))?;
        }
        let limit = size(max);
        let than = if over {
            format!("still over the limit of {limit}")
        } else {
            format!("within the limit of {limit}")
        };
        let was = painted(DIM, format!("(was {})", size(plan.before.total())));
        output.line(format!("{} now {was}, {than}", size(after.total())))?;
        if after.journal > max {
            output.notice(&format!(
                "the journal alone takes {} and is never cut: raise the limit (`--max-size`, the setting `gc.max_size`), or `flame export` and start over",
                size(after.journal)
            ))?;
        } else if over {
            output.notice(
                "the rest belongs to open frames: finish some, or raise the limit (`--max-size`, the setting `gc.max_size`)",
            )?;
        }
        Ok(())
    }
}

/// Parses a size.
fn parse_size(text: &str) -> Result<u64, &'static str> {
    settings::size(text).ok_or("a size is a whole number with a unit, such as `50 MB`")
}
