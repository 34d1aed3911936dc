//! `flame push`

use clap::Args;
use flamestack_engine::request::{Parent, Request, Wanted};

use super::{grant, text_or_stdin};
use crate::failure::Failure;
use crate::output::Output;
use crate::workplace::Workplace;

/// Open a frame below the active one and turn to it
#[derive(Args)]
pub(crate) struct Push {
    /// A short name for the work, 2 to 5 words; `-` reads standard input
    title: String,
    /// What defines "done"; `-` reads standard input
    #[arg(short, long, value_name = "TEXT")]
    criteria: Option<String>,
    /// The criteria in dense form (derived when absent)
    #[arg(long, value_name = "TEXT")]
    criteria_compacted: Option<String>,
    /// Open it below this frame
    #[arg(short, long, value_name = "FRAME", conflicts_with = "root")]
    parent: Option<String>,
    /// Begin a new tree
    #[arg(long)]
    root: bool,
}

impl Push {
    pub(crate) fn run(self, place: &Workplace, output: &mut Output) -> Result<(), Failure> {
        let goal = Wanted {
            title: text_or_stdin(&self.title)?,
            criteria: self.criteria.as_deref().map(text_or_stdin).transpose()?,
            criteria_compacted: self.criteria_compacted,
        };
        let parent = parent(self.parent, self.root);
        grant(place, output, &Request::Push { parent, goal })?;
        Ok(())
    }
}

/// Where new frames belong, by the flags `--parent` and `--root`.
pub(super) fn parent(parent: Option<String>, root: bool) -> Parent {
    match parent {
        Some(name) => Parent::Named(name),
        None if root => Parent::Root,
        None => Parent::Active,
    }
}
