//! Who may know whom: the layers of the architecture, held against the real dependencies.

use std::collections::BTreeMap;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// Each crate and the crates of ours that it may depend on. Fronts do not know each other.
const MAY_KNOW: &[(&str, &[&str])] = &[
    ("flamestack-core", &[]),
    ("flamestack-tokens", &["flamestack-core"]),
    ("flamestack-store", &["flamestack-core"]),
    ("flamestack-tokens", &["flamestack-core"]),
    (
        "flamestack-engine",
        &["flamestack-core", "flamestack-store", "flamestack-tokens"],
    ),
    (
        "flamestack-hosts",
        &["flamestack-core", "flamestack-engine", "flamestack-store"],
    ),
    ("flamestack-eval", &["flamestack-core"]),
    (
        "flamestack-cli",
        &[
            "flamestack-core",
            "flamestack-engine",
            "flamestack-eval",
            "flamestack-hosts",
            "flamestack-store",
            "flamestack-tokens",
        ],
    ),
];

/// Crates that core must not have, with everything they would drag in.
const IMPURE: &[&str] = &[
    "rusqlite",
    "tokio",
    "fs-err",
    "getrandom",
    "jiff",
    "etcetera",
];

/// Refuses a dependency that the architecture does not have.
pub(crate) fn check() -> Result<()> {
    let dependencies = dependencies()?;
    for (name, allowed) in MAY_KNOW {
        let Some(found) = dependencies.get(*name) else {
            bail!("the crate {name} is gone: update `xtask/src/layers.rs`");
        };
        for dependency in found
            .iter()
            .filter(|other| other.starts_with("flamestack-"))
        {
            if !allowed.contains(&dependency.as_str()) {
                bail!("{name} depends on {dependency}: a layer knows only the ones below it");
            }
        }
    }
    let core = dependencies
        .get("flamestack-core")
        .map(Vec::as_slice)
        .unwrap_or_default();
    if let Some(impure) = core.iter().find(|name| IMPURE.contains(&name.as_str())) {
        bail!("flamestack-core depends on {impure}: core does no IO");
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
