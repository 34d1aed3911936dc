//! The layers of the architecture, checked against the real dependencies.

use std::collections::BTreeMap;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// Each crate, and the crates of ours that it may depend on, without the `flamestack-` prefix.
/// Fronts do not know each other.
const MAY_KNOW: &[(&str, &[&str])] = &[
    ("core", &[]),
    ("redact", &[]),
    ("extract", &["core"]),
    ("tokens", &["extract"]),
    ("context", &["core", "extract"]),
    ("brief", &["core", "extract", "context"]),
    ("store", &["core", "extract", "redact"]),
    (
        "engine",
        &[
            "brief", "context", "core", "extract", "redact", "store", "tokens",
        ],
    ),
    ("eval", &["core", "engine", "extract", "store"]),
    ("hosts", &["brief", "core", "engine", "store"]),
    ("orchestrator", &["core", "engine"]),
    ("ui", &["core", "engine", "store"]),
    (
        "cli",
        &[
            "brief",
            "context",
            "core",
            "engine",
            "eval",
            "extract",
            "hosts",
            "orchestrator",
            "redact",
            "store",
            "tokens",
            "ui",
        ],
    ),
];

/// Crates of pure functions: values in, values out.
const PURE: &[&str] = &["core", "extract", "context", "brief"];

/// Libraries that the pure crates must not have.
const IMPURE: &[&str] = &[
    "rusqlite",
    "tokio",
    "fs-err",
    "getrandom",
    "jiff",
    "etcetera",
];

/// Exceptions: `brief` parses dates, and its `clippy.toml` refuses the clock.
const EXCEPT: &[(&str, &str)] = &[("brief", "jiff")];

/// Fails on a dependency that the architecture does not allow.
pub(crate) fn check() -> Result<()> {
    let dependencies = dependencies()?;
    for (name, allowed) in MAY_KNOW {
        let Some(found) = dependencies.get(&format!("flamestack-{name}")) else {
            bail!("the crate flamestack-{name} is gone: update `xtask/src/layers.rs`");
        };
        for dependency in found {
            match dependency.strip_prefix("flamestack-") {
                Some(ours) if !allowed.contains(&ours) => {
                    bail!("{name} depends on {ours}: a layer knows only the ones below it");
                }
                None if PURE.contains(name)
                    && IMPURE.contains(&dependency.as_str())
                    && !EXCEPT.contains(&(*name, dependency.as_str())) =>
                {
                    bail!("{name} depends on {dependency}: {name} does no IO");
                }
                _ => {}
            }
        }
    }
    println!("layers: ok");
    Ok(())
}

/// The ordinary dependencies of each workspace member, by name.
fn dependencies() -> Result<BTreeMap<String, Vec<String>>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--format-version", "1", "--locked"])
        .current_dir(crate::root()?)
        .output()
        .context("cargo could not be started")?;
    let metadata: Value = serde_json::from_slice(&output.stdout).context("cargo metadata")?;
    let mut members = BTreeMap::new();
    let list = |value: &Value, name: &str| -> Vec<Value> {
        value
            .get(name)
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default()
    };
    let text =
        |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    for package in list(&metadata, "packages") {
        let dependencies = list(&package, "dependencies");
        let ordinary = dependencies
            .iter()
            .filter(|dependency| text(dependency, "kind").is_none());
        let names = ordinary
            .filter_map(|dependency| text(dependency, "name"))
            .collect();
        members.insert(text(&package, "name").unwrap_or_default(), names);
    }
    Ok(members)
}
