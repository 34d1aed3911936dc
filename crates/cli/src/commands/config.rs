//! `flame config`

use std::path::Path;

use clap::{Args, Subcommand};
use flamestack_engine::settings::{self, Scope, Settings};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::output::{DIM, Output, painted};
use crate::workplace;

/// List, read and change settings
#[derive(Args)]
pub(crate) struct Config {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// List settings with their values and where those come from
    List {
        /// Only settings that begin like this
        prefix: Option<String>,
    },
    /// Print a value
    Get {
        /// Which setting
        key: String,
    },
    /// Change a value
    Set {
        /// Which setting
        key: String,
        /// Its new value
        value: String,
        /// For this project only, on this machine
        #[arg(long)]
        project: bool,
    },
}

impl Config {
    /// Works without opening the store: settings can be mended when nothing else works.
    pub(crate) fn run(self, dir: Option<&Path>, output: &mut Output) -> Result<(), Failure> {
        let home = workplace::home()?;
        let project = workplace::project(dir, &home)?;
        let gather = || Settings::gather(&home, &project, &|name| std::env::var(name).ok());
        match self.what {
            What::List { prefix } => list(output, &gather()?, &prefix.unwrap_or_default()),
            What::Get { key } => {
                let settings = gather()?;
                let value = settings.get(&key)?;
                if output.is_json() {
                    return output.data(&json!({ "key": key, "value": value.text, "origin": value.origin.to_string() }));
                }
                output.line(&value.text)
            }
            What::Set {
                key,
                value,
                project: only_here,
            } => {
                let scope = if only_here {
                    Scope::Project
                } else {
                    Scope::User
                };
                let file = settings::set(&home, &project, scope, &key, &value)?;
                if output.is_json() {
                    return output.data(
                        &json!({ "key": key, "value": value, "file": file.display().to_string() }),
                    );
                }
                output.line(format!("{key} = {value}  {}", painted(DIM, file.display())))
            }
        }
    }
}

fn list(output: &mut Output, settings: &Settings, prefix: &str) -> Result<(), Failure> {
    let chosen: Vec<_> = settings
        .iter()
        .filter(|(setting, _)| setting.key.starts_with(prefix))
        .collect();
    if chosen.is_empty() {
        settings::setting(prefix)?;
    }
    if output.is_json() {
        let values = chosen.iter().map(|(setting, value)| {
            json!({
                "key": setting.key,
                "value": value.text,
                "origin": value.origin.to_string(),
                "default": setting.default,
                "takes": setting.takes(),
                "about": setting.about,
            })
        });
        return output.data(&Value::Array(values.collect()));
    }
    for (setting, value) in chosen {
        output.line(format!(
            "{} = {}  {}",
            setting.key,
            value.text,
            painted(DIM, &value.origin)
        ))?;
        output.line(format!("    {} Takes {}.", setting.about, setting.takes()))?;
    }
    Ok(())
}
