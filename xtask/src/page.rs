//! The live page: its types checked, and used in a real browser.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::plugin::run;
use crate::test::Steps;
use crate::{cargo, root};

/// Folder of the page.
const PAGE: &str = "crates/ui/page";
/// Places where a browser may be.
const BROWSERS: [&str; 3] = [
    "/usr/bin/chromium",
    "/usr/bin/chromium-browser",
    "/usr/bin/google-chrome",
];

/// Builds the program, and the examples that fill a project and panic in a terminal.
const BUILD: [&str; 8] = [
    "build",
    "--package",
    "flamestack-cli",
    "--package",
    "flamestack-ui",
    "--bin",
    "flame",
    "--examples",
];

/// Checks the page's types and uses it in Chromium, with the `flame` of this tree.
pub(crate) fn test(steps: &mut Steps) -> Result<()> {
    let page = root()?.join(PAGE);
    steps.take("page, types", || {
        run(&page, "npm", &["install", "--no-save", "--ignore-scripts"])?;
        run(&page, "npm", &["run", "--silent", "check"])
    })?;
    steps.take("page, browser", browser)?;
    steps.take("page, in Chromium", || {
        cargo(&BUILD, &[])?;
        run(&page, "npm", &["run", "--silent", "test"])
    })
}

/// Measures the page, the terminal view and flame graphs with a release build, which a script does.
pub(crate) fn bench(flags: &[&str]) -> Result<()> {
    cargo(&[&BUILD[..], &["--release"]].concat(), &[])?;
    let page = root()?.join(PAGE);
    run(&page, "npm", &["install", "--no-save", "--ignore-scripts"])?;
    browser()?;
    let mut script = vec!["../../../benches/ui/run.mjs"];
    script.extend(flags);
    run(&page, "node", &script)
}

/// Makes sure that there is a browser, and a terminal for the terminal view. On a machine of Debian's whose user may do so, it is installed.
fn browser() -> Result<()> {
    let named = std::env::var_os("FLAME_CHROMIUM");
    let has_browser = named.is_some() || BROWSERS.iter().any(|path| Path::new(path).exists());
    if has_browser && Path::new("/usr/bin/tmux").exists() {
        return Ok(());
    }
    println!("\n$ apt-get install chromium tmux");
    let apt = |words: &[&str]| {
        let status = Command::new("apt-get")
            .args(words)
            .env("DEBIAN_FRONTEND", "noninteractive")
            .status();
        status.is_ok_and(|status| status.success())
    };
    let programs = ["chromium", "tmux"];
    let flags = ["install", "-y", "-q", "--no-install-recommends"];
    let install = [&flags[..], &programs[..]].concat();
    if apt(&install) || (apt(&["update", "-q"]) && apt(&install)) {
        return Ok(());
    }
    if has_browser {
        // The tests of the terminal view are skipped, and say so.
        return Ok(());
    }
    bail!("there is no Chromium: install it, or name one in FLAME_CHROMIUM")
}
