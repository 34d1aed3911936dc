//! What has to hold before anything lands.

use anyhow::Result;

use crate::{cargo, generate, layers, plugin};

/// Checks and tests everything.
pub(crate) fn run() -> Result<()> {
    cargo(&["fmt", "--all", "--check"], &[])?;
    layers::check()?;
    generate::check()?;
    cargo(
        &[
            "clippy",
            "--workspace",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ],
        &[],
    )?;
    cargo(
        &["doc", "--workspace", "--no-deps"],
        &[("RUSTDOCFLAGS", "-D warnings")],
    )?;
    cargo(&["test", "--workspace"], &[("INSTA_UPDATE", "no")])?;
    plugin::test()
}
