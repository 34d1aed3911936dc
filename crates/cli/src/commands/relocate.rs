//! `flame move` and `flame delete`

use clap::Args;
use flamestack_engine::request::{Destination, Request};

use super::grant;
use crate::failure::Failure;
use crate::output::Output;
use crate::workplace::Workplace;

/// Give a planned frame another parent or place
#[derive(Args)]
pub(crate) struct Move {
    /// Which frame
    frame: String,
    #[command(flatten)]
    to: To,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
struct To {
    /// Put it last below this frame
    #[arg(short, long, value_name = "FRAME")]
    under: Option<String>,
    /// Make it a tree of its own
    #[arg(long)]
    root: bool,
    /// Put it just before this frame
    #[arg(short, long, value_name = "FRAME")]
    before: Option<String>,
    /// Put it just after this frame
    #[arg(short, long, value_name = "FRAME")]
    after: Option<String>,
}

impl Move {
    pub(crate) fn run(self, place: &Workplace, output: &mut Output) -> Result<(), Failure> {
        let to = match (self.to.under, self.to.before, self.to.after) {
            (Some(parent), _, _) => Destination::Under(parent),
            (_, Some(sibling), _) => Destination::Before(sibling),
            (_, _, Some(sibling)) => Destination::After(sibling),
            (None, None, None) => Destination::Root,
        };
        grant(
            place,
            output,
            &Request::Move {
                frame: self.frame,
                to,
            },
        )?;
        Ok(())
    }
}

/// Take a planned frame, and those below it, out of the tree
#[derive(Args)]
pub(crate) struct Delete {
    /// Which frame
    frame: String,
}

impl Delete {
    pub(crate) fn run(self, place: &Workplace, output: &mut Output) -> Result<(), Failure> {
        grant(place, output, &Request::Delete(self.frame))?;
        Ok(())
    }
}
