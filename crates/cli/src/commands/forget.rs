//! `flame forget`

use clap::Args;
use flamestack_engine::exactly;
use flamestack_engine::forget::ToForget;
use flamestack_engine::views::counted;
use flamestack_store::Forgotten;
use serde_json::json;

use super::{ask, text_or_stdin};
use crate::command_context::CommandContext;
use crate::failure::Failure;
use crate::output::{BOLD, Output, painted};

/// Erase a text, or a frame with everything below it, from everything that is stored
///
/// Rewrites the journal, raw text, set-aside stores and diagnostics, and deletes indexes and rendered
/// logs, so that the text is in no file of the project's state. `[forgotten]` replaces it,
/// and the journal records when and in how many places. Refused while another process has the store
/// open. Exports, backups, the host's own files and the memory of running programs are not touched.
#[derive(Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(crate) struct Forget {
    /// The text, or the full id of a frame; `-` reads the text from standard input, which keeps it
    /// out of the shell's history
    #[arg(value_name = "TEXT|FRAME")]
    what: String,
    /// The text is a regular expression
    #[arg(long, conflicts_with = "frame")]
    regex: bool,
    /// It is a frame, named by its id or any unique prefix of it
    #[arg(long)]
    frame: bool,
    /// It is a text, even if it looks like the id of a frame
    #[arg(long, conflicts_with_all = ["frame", "regex"])]
    text: bool,
    /// Print the number of places without erasing anything
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Do not ask for confirmation
    #[arg(short, long)]
    yes: bool,
}

impl Forget {
    /// Returns true if it may change something.
    pub(crate) fn erases(&self) -> bool {
        !self.dry_run
    }

    pub(crate) fn run(self, ctx: &CommandContext, output: &mut Output) -> Result<(), Failure> {
        let what = self.chosen(ctx)?;
        let found = ctx.engine.maintenance().survey(&what)?;
        if self.dry_run || found.is_empty() {
            return report(output, &found, true);
        }
        if !self.yes {
            let question = format!("Erase {} for good?", in_words(&found));
            let hint = "`--yes` erases without asking, `--dry-run` shows the number of places";
            ask(&question, hint, output)?;
        }
        let forgotten = ctx.engine.maintenance().forget(&ctx.actor, &what)?;
        report(output, &forgotten, false)
    }

    fn chosen(&self, ctx: &CommandContext) -> Result<ToForget, Failure> {
        if self.frame {
            return Ok(ToForget::Frame(ctx.engine.frame_named(&self.what)?));
        }
        let text = text_or_stdin(&self.what)?;
        let text = text.strip_suffix('\n').unwrap_or(&text);
        if self.regex {
            return Ok(ToForget::Regex(text.to_owned()));
        }
        let frame = ctx.engine.read(|reading| exactly(reading, text))?;
        Ok(match frame.filter(|_| !self.text) {
            Some(frame) => ToForget::Frame(frame),
            None => ToForget::Text(text.to_owned()),
        })
    }
}

fn report(output: &mut Output, found: &Forgotten, dry_run: bool) -> Result<(), Failure> {
    let paths = |paths: &[std::path::PathBuf]| -> Vec<String> {
        paths
            .iter()
            .map(|path| path.display().to_string())
            .collect()
    };
    if output.is_json() {
        output.data(&json!({
            "dryRun": dry_run,
            "places": found.places,
            "events": found.events,
            "texts": found.texts,
            "inFiles": found.in_files,
            "deleted": paths(&found.deleted),
            "left": paths(&found.left),
        }))?;
    } else {
        match (found.is_empty(), dry_run) {
            (true, _) => output.line("Nothing to forget.")?,
            (_, true) => output.line(format!("Would erase {}.", in_words(found)))?,
            (_, false) => output.line(format!("Erased {}.", in_words(found)))?,
        }
        for path in paths(&found.deleted) {
            let deleted = if dry_run { "would delete" } else { "deleted" };
            output.line(format!(
                "{deleted} {path}: damaged raw text cannot be searched"
            ))?;
        }
        for path in paths(&found.left) {
            output.line(format!("{} {path} holds it too", painted(BOLD, "!")))?;
            output.line("  edit or delete this file yourself")?;
        }
    }
    if found.left.is_empty() {
        Ok(())
    } else {
        Err(Failure::Attention)
    }
}

fn in_words(found: &Forgotten) -> String {
    format!(
        "{} in {}, {} and {} in other files",
        counted(found.places, "place", "places"),
        counted(found.events, "event", "events"),
        counted(found.texts, "raw text", "raw texts"),
        counted(found.in_files, "place", "places")
    )
}
