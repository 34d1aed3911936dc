//! `flame config`

use std::path::Path;

use clap::{Args, Subcommand};
use flamestack_engine::settings::{self, Scope, Settings};
use serde_json::{Value, json};

use crate::command_context;
use crate::failure::Failure;
use crate::output::{DIM, Output, painted};

/// List, read and change settings
#[derive(Args)]
pub(crate) struct Config {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// List settings with their values and origins
    List {
        /// Only settings with this prefix
        prefix: Option<String>,
    },
    /// Print the value of a setting
    Get {
        /// The setting
        key: String,
    },
    /// Change a setting
    ///
    /// For example `flame config set gc.max_size "100 MB"`. The value is stored in your settings file
    /// and applies to all projects, unless a project overrides it.
    Set {
        /// The setting
        key: String,
        /// Its new value
        value: String,
        /// For this project only, on this machine
        #[arg(long)]
        project: bool,
    },
    /// Remove the value of a setting, so that the next lower layer applies again
    Unset {
        /// The setting
        key: String,
        /// Remove this project's value on this machine instead of the user's
        #[arg(long)]
        project: bool,
    },
}

impl Config {
    /// Does not open the store, so that settings can be fixed when nothing else works.
    pub(crate) fn run(self, dir: Option<&Path>, output: &mut Output) -> Result<(), Failure> {
        let home = command_context::home()?;
        let project = command_context::project(dir, &home)?;
        let survey = || Settings::survey(&home, &project, &|name| std::env::var(name).ok());
        match self.what {
            What::List { prefix } => list(output, &survey()?, &prefix.unwrap_or_default()),
            What::Get { key } => get(output, &survey()?, &key),
            What::Set {
                key,
                value,
                project: only_here,
            } => {
                let file = settings::set(&home, &project, scope(only_here), &key, &value)?;
                let file = file.display();
                if output.is_json() {
                    let file = file.to_string();
                    return output.data(&json!({ "key": key, "value": value, "file": file }));
                }
                output.line(format!("{key} = {value}  {}", painted(DIM, file)))
            }
            What::Unset {
                key,
                project: only_here,
            } => {
                let file = settings::unset(&home, &project, scope(only_here), &key)?;
                print_unset(output, &survey()?, &key, file.as_deref())
            }
        }
    }
}

fn get(output: &mut Output, settings: &Settings, key: &str) -> Result<(), Failure> {
    let value = settings.get(key)?;
    let about = |problem: &&settings::Problem| problem.key.as_deref() == Some(key);
    let problems: Vec<_> = settings.problems().iter().filter(about).collect();
    if output.is_json() {
        return output.data(&json!({
            "key": key,
            "value": value.text,
            "origin": value.origin.to_string(),
            "problems": problems.iter().map(|bad| &bad.problem).collect::<Vec<_>>(),
        }));
    }
    output.raw(&format!("{}\n", value.text))?;
    print_ignored(output, &problems)
}

fn print_unset(
    output: &mut Output,
    settings: &Settings,
    key: &str,
    file: Option<&Path>,
) -> Result<(), Failure> {
    let now = settings.get(key).ok();
    let file = file.map(|file| file.display().to_string());
    if output.is_json() {
        return output.data(&json!({
            "key": key,
            "changed": file.is_some(),
            "file": file,
            "value": now.map(|value| value.text.clone()),
            "origin": now.map(|value| value.origin.to_string()),
        }));
    }
    output.line(match file {
        Some(file) => format!("{key} is no longer set in {file}"),
        None => format!("{key} was not set there"),
    })?;
    match now {
        Some(value) => {
            let origin = painted(DIM, &value.origin);
            output.line(format!("{key} = {}  {origin}", value.text))
        }
        None => Ok(()),
    }
}

fn print_ignored(output: &mut Output, problems: &[&settings::Problem]) -> Result<(), Failure> {
    for problem in problems {
        output.notice(&format!("ignored: {}", problem.problem))?;
    }
    Ok(())
}

fn scope(only_here: bool) -> Scope {
    if only_here {
        Scope::Project
    } else {
        Scope::User
    }
}

fn list(output: &mut Output, settings: &Settings, prefix: &str) -> Result<(), Failure> {
    let chosen: Vec<_> = settings
        .iter()
        .filter(|(setting, _)| setting.key.starts_with(prefix))
        .collect();
    let about = |problem: &&settings::Problem| {
        let key = problem.key.as_deref();
        key.is_none_or(|key| key.starts_with(prefix))
    };
    let problems: Vec<_> = settings.problems().iter().filter(about).collect();
    if chosen.is_empty() && problems.is_empty() {
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
    print_ignored(output, &problems)
}
