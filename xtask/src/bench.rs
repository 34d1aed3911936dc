//! `cargo xtask bench`: builds what is to be measured and runs `benches/`.

use anyhow::{Result, bail};

use crate::{cargo, page, plugin, root};

/// The benchmarks, in the order in which they run.
const ALL: [&str; 13] = [
    "durable", "writers", "history", "sessions", "signals", "context", "brief", "summary", "cli",
    "import", "opencode", "run", "ui",
];

/// Runs the named benchmarks, or all.
pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    let (flags, names): (Vec<&str>, Vec<&str>) = arguments
        .iter()
        .partition(|argument| argument.starts_with("--"));
    if let Some(unknown) = flags.iter().find(|flag| **flag != "--quick") {
        bail!("there is no flag {unknown}: there is --quick");
    }
    if let Some(unknown) = names.iter().find(|name| !ALL.contains(name)) {
        bail!(
            "there is no benchmark {unknown}: there are {}",
            ALL.join(", ")
        );
    }
    let chosen = if names.is_empty() {
        ALL.to_vec()
    } else {
        names
    };
    for name in chosen {
        if matches!(name, "cli" | "import") {
            cargo(&["build", "--release", "--package", "flamestack-cli"], &[])?;
        }
        if name == "ui" {
            page::bench(&flags)?;
            continue;
        }
        if matches!(name, "opencode" | "run") {
            with_opencode(name, &flags)?;
            continue;
        }
        let mut command = vec![
            "bench",
            "--package",
            "flamestack-bench",
            "--bench",
            name,
            "--",
        ];
        command.extend(&flags);
        cargo(&command, &[])?;
    }
    Ok(())
}

/// Measures something with the real OpenCode, which a script does.
fn with_opencode(name: &str, flags: &[&str]) -> Result<()> {
    let packages = [
        "--package",
        "flamestack-cli",
        "--package",
        "flamestack-bench",
    ];
    cargo(
        &[&["build", "--release", "--bins"], &packages[..]].concat(),
        &[],
    )?;
    if name == "opencode" {
        plugin::build()?;
    }
    let script = format!("benches/{name}/run.mjs");
    let words = [&[script.as_str()], flags].concat();
    plugin::run(&root()?, "node", &words)
}
