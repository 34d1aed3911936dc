//! `flame sidecar`

use std::io;

use clap::Args;
use flamestack_engine::folding::FoldPolicy;
use flamestack_engine::tools::Profile;
use flamestack_hosts::sidecar::wire::{Isolation, Placement};
use flamestack_hosts::sidecar::{self, Sidecar as Serving};

use crate::failure::Failure;
use crate::workplace::Workplace;

/// Serve a host's plugin over standard input and output
///
/// Speaks JSON-RPC 2.0, one object a line, until the input ends. A plugin starts it; people have
/// no use for it.
#[derive(Args)]
pub(crate) struct Sidecar {}

impl Sidecar {
    pub(crate) fn run(self, place: Workplace) -> Result<(), Failure> {
        let word = |key| -> Result<String, Failure> { Ok(place.settings.get(key)?.text.clone()) };
        let serving = Serving {
            tools: Profile::from_name(&word("tools")?).unwrap_or_default(),
            placement: match word("inject.placement")?.as_str() {
                "system" => Placement::System,
                "message" => Placement::Message,
                _ => Placement::Auto,
            },
            fold: FoldPolicy::from_name(&word("fold")?).unwrap_or_default(),
            isolation: match word("frames.isolation")?.as_str() {
                "session" => Isolation::Session,
                _ => Isolation::Inline,
            },
            worktree: place.actor.worktree,
            engine: place.engine,
        };
        Ok(sidecar::serve(&serving, io::stdin().lock(), io::stdout())?)
    }
}
