//! `flame gc`

use std::time::Duration;

use clap::Args;
use flamestack_engine::settings;
use flamestack_engine::views::{counted, size};
use flamestack_store::{Collected, Orphans, Shortfall, Sizes};
use serde_json::json;

use crate::command_context::CommandContext;
use crate::failure::Failure;
use crate::output::Output;

/// Time to wait for processes that are storing raw text.
const PATIENCE: Duration = Duration::from_secs(10);

/// Shrink the project's files below a size limit
///
/// Deletes the search index and rendered logs first, then the raw text of the oldest finished
/// frames, if that reaches the limit or comes much closer to it. Each deleted text leaves a
/// tombstone. Raw text beyond the age limit is deleted in any case. The journal is never cut. Exits with 1 if the files are still over the limit.
#[derive(Args)]
pub(crate) struct Gc {
    /// The size limit, such as `50 MB` (default: the setting `gc.max_size`)
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    max_size: Option<u64>,
    /// Delete raw text that is older than this number of days, that of open frames too; 0 for no limit
    /// (default: the setting `gc.max_age_days`)
    #[arg(long, value_name = "DAYS")]
    max_age: Option<u64>,
    /// Also delete raw text that belongs to a journal that is missing
    #[arg(long)]
    orphans: bool,
    /// Print what would be deleted without deleting it
    #[arg(short = 'n', long)]
    dry_run: bool,
}

/// Returns the limit from the settings. If the user's own limit cannot be read, nothing is deleted.
fn set_limit(ctx: &CommandContext) -> Result<u64, Failure> {
    match ctx.settings.unsafe_to_delete() {
        None => Ok(ctx.settings.size("gc.max_size")?),
        Some(problem) => Err(Failure::refused(
            "nothing is deleted: the limit in the settings cannot be read",
            &format!("{}; `--max-size` gives a limit for once", problem.remedy),
        )),
    }
}

/// Returns the age limit from the settings, under the same condition.
fn set_age(ctx: &CommandContext) -> Result<u64, Failure> {
    match ctx.settings.unsafe_to_delete() {
        None => Ok(ctx.settings.number("gc.max_age_days")?),
        Some(_) => Ok(0),
    }
}

impl Gc {
    /// Returns true if it may delete more than the settings allow.
    pub(crate) fn has_limits(&self) -> bool {
        !self.dry_run && (self.max_size.is_some() || self.max_age.is_some() || self.orphans)
    }

    pub(crate) fn run(self, ctx: &CommandContext, output: &mut Output) -> Result<(), Failure> {
        let limit = match self.max_size {
            Some(limit) => limit,
            None => set_limit(ctx)?,
        };
        let days = match self.max_age {
            Some(days) => days,
            None => set_age(ctx)?,
        };
        let orphans = if self.orphans {
            Orphans::All
        } else {
            Orphans::Careful
        };
        let maintenance = ctx.engine.maintenance();
        let keep = maintenance.retention(limit, days);
        let (plan, after) = if self.dry_run {
            let plan = maintenance.plan_collection(&keep, orphans)?;
            let after = plan.after;
            (plan, after)
        } else {
            let plan = maintenance.collect(&ctx.actor, &keep, orphans, PATIENCE, &|| true)?;
            (plan, flamestack_store::sizes(&ctx.engine.project().dir)?)
        };
        let over = after.total() > limit;
        if output.is_json() {
            output.data(&json!({
                "dryRun": self.dry_run,
                "limit": limit,
                "before": plan.before.total(),
                "after": after.total(),
                "journal": after.journal,
                "droppedIndex": plan.drop_index,
                "droppedTexts": plan.drop_blobs.len(),
                "expiredTexts": plan.expired.len(),
                "orphans": plan.orphans.len(),
                "keptOrphans": plan.kept,
                "overLimit": over,
            }))?;
        } else {
            self.print(output, &plan, after, limit)?;
        }
        if over {
            Err(Failure::Attention)
        } else {
            Ok(())
        }
    }

    fn print(
        &self,
        output: &mut Output,
        plan: &Collected,
        after: Sizes,
        limit: u64,
    ) -> Result<(), Failure> {
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
        if !plan.expired.is_empty() {
            let texts = counted(plan.expired.len() as u64, "raw text", "raw texts");
            output.line(format!("{would}: {texts} older than the age limit"))?;
        }
        if !plan.drop_blobs.is_empty() {
            let texts = counted(plan.drop_blobs.len() as u64, "raw text", "raw texts");
            output.line(format!("{would}: {texts} of finished frames"))?;
        }
        if !plan.orphans.is_empty() {
            let texts = counted(plan.orphans.len() as u64, "raw text", "raw texts");
            output.line(format!("{would}: {texts} that no frame refers to"))?;
        }
        let limited = if after.total() > limit {
            format!("still over the limit of {}", size(limit))
        } else {
            format!("within the limit of {}", size(limit))
        };
        let now = if self.dry_run { "afterwards" } else { "now" };
        output.line(format!(
            "{} {now} (was {}), {limited}",
            size(after.total()),
            size(plan.before.total()),
        ))?;
        if plan.kept > 0 && plan.short_of != Some(Shortfall::Journal) {
            let texts = counted(plan.kept, "raw text is", "raw texts are");
            output.notice(&format!(
                "{texts} kept, because a journal that is missing or set aside may need it: \
                 `flame doctor` says more, `flame gc --orphans` deletes text of a missing one"
            ))?;
        }
        match plan.short_of {
            Some(Shortfall::Journal) => output.notice(&format!(
                "the journal alone takes {} and is never cut, so nothing was deleted: raise the \
                 limit (`--max-size`, the setting `gc.max_size`), or `flame export` and start over",
                size(after.journal)
            )),
            Some(Shortfall::TooLittle) => output.notice(
                "no raw text was deleted, since that of finished frames is too little to come near \
                 the limit: finish some frames, or raise the limit (`--max-size`, the setting \
                 `gc.max_size`)",
            ),
            Some(Shortfall::OpenFrames) => output.notice(
                "the rest belongs to open frames: finish some, or raise the limit (`--max-size`, \
                 the setting `gc.max_size`)",
            ),
            None => Ok(()),
        }
    }
}

/// Parses a size.
fn parse_size(text: &str) -> Result<u64, &'static str> {
    settings::size(text).ok_or("a size is a whole number with a unit, such as `50 MB`")
}
