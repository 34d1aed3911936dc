//! The OpenCode plugin: built, and tested alone and inside the real OpenCode.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::test::Steps;
use crate::{cargo, root};

/// Folder of the plugin.
const PLUGIN: &str = "plugins/opencode";

/// Builds the plugin, with the compiler that its lock file names.
pub(crate) fn build() -> Result<()> {
    let plugin = root()?.join(PLUGIN);
    // Not `npm ci`: it wants packages of every platform in the lock, which no single one can write.
    run(
        &plugin,
        "npm",
        &["install", "--no-save", "--ignore-scripts"],
    )?;
    run(&plugin, "npm", &["run", "--silent", "build"])
}

/// Tests it alone, then with the real OpenCode and the `flame` of this tree.
pub(crate) fn test(steps: &mut Steps) -> Result<()> {
    let plugin = root()?.join(PLUGIN);
    steps.take("plugin, build", build)?;
    steps.take("plugin, tests", || {
        run(&plugin, "npm", &["run", "--silent", "test"])
    })?;
    steps.take("plugin, in OpenCode", || {
        cargo(&["build", "--package", "flamestack-cli"], &[])?;
        // Once, before the tests run side by side and would all install it.
        run(&plugin, "node", &["e2e/lab/install.mjs"])?;
        run(&plugin, "npm", &["run", "--silent", "e2e"])
    })
}

/// Kills `flame run` and the real OpenCode at every step of some runs.
pub(crate) fn crashes(runs: &str) -> Result<()> {
    if runs.parse::<u32>().is_ok_and(|runs| runs > 0) {
        let plugin = root()?.join(PLUGIN);
        cargo(&["build", "--package", "flamestack-cli"], &[])?;
        run(&plugin, "node", &["e2e/lab/install.mjs"])?;
        run(&plugin, "node", &["e2e/run-crashes.test.mjs", runs])
    } else {
        bail!("`{runs}` is not a number of runs")
    }
}

/// Runs a program of Node's in a folder and waits for it to succeed.
pub(crate) fn run(folder: &Path, program: &str, arguments: &[&str]) -> Result<()> {
    println!("\n$ {program} {}", arguments.join(" "));
    // On Windows npm is a script, and only a shell runs scripts.
    let mut command = if cfg!(windows) {
        let mut shell = Command::new("cmd");
        shell.args(["/C", program]);
        shell
    } else {
        Command::new(program)
    };
    let status = command
        .args(arguments)
        .current_dir(folder)
        .status()
        .with_context(|| format!("{program} could not be started: is Node.js installed?"))?;
    if status.success() {
        Ok(())
    } else {
        bail!("`{program} {}` failed", arguments.join(" "))
    }
}
