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
    ///
    /// For example `flame config set gc.max_size "100 MB"`. It is kept in your settings file and
    /// counts in all projects, unless a project says otherwise.
    Set {
        /// Which setting
        key: String,
        /// Its new value
        value: String,
        /// For this project only, on this machine
        #[arg(long)]
        project: bool,
    },
    /// Take a value back out of the settings, so that the one below it counts again
    Unset {
        /// Which setting
        key: String,
        /// This project's value on this machine, not the user's
        #[arg(long)]
        project: bool,
    },
}

impl Config {
    /// Works without opening the store: settings can be mended when nothing else works.
    pub(crate) fn run(self, dir: Option<&Path>, output: &mut Output) -> Result<(), Failure> {
        let home = workplace::home()?;
        let project = workplace::project(dir, &home)?;
        let survey = || Settings::survey(&home, &project, &|name| std::env::var(name).ok());
        match self.what {
            What::List { prefix } => list(output, &survey()?, &prefix.unwrap_or_default()),
            What::Get { key } => {
                let settings = survey()?;
                let value = settings.get(&key)?;
                let about = |problem: &&settings::Problem| problem.key.as_ref() == Some(&key);
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
                for problem in problems {
                    output.notice(&format!("does not count: {}", problem.problem))?;
                }
                Ok(())
            }
            What::Set {
                key,
                value,
                project: only_here,
            } => {
                let file = settings::set(&home, &project, scope(only_here), &key, &value)?;
                if output.is_json() {
                    return output.data(
                        &json!({ "key": key, "value": value, "file": file.display().to_string() }),
                    );
                }
                output.line(format!("{key} = {value}  {}", painted(DIM, file.display())))
            }
            What::Unset {
                key,
                project: only_here,
            } => {
                let file = settings::unset(&home, &project, scope(only_here), &key)?;
                let settings = survey()?;
                let now = settings.get(&key).ok();
                if output.is_json() {
                    return output.data(&json!({
                        "key": key,
                        "changed": file.is_some(),
                        "file": file.map(|file| file.display().to_string()),
                        "value": now.map(|value| value.text.clone()),
                        "origin": now.map(|value| value.origin.to_string()),
                    }));
                }
                match file {
                    Some(file) => {
                        output.line(format!("{key} is no longer set in {}", file.display()))?;
                    }
                    None => output.line(format!("{key} was not set there"))?,
                }
                match now {
                    Some(value) => output.line(format!(
                        "{key} = {}  {}",
                        value.text,
                        painted(DIM, &value.origin)
                    )),
                    None => Ok(()),
                }
            }
        }
    }
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
    for problem in problems {
        output.notice(&format!("does not count: {}", problem.problem))?;
    }
    Ok(())
}
