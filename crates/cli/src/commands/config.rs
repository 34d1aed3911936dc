//! `flame config`

use std::path::Path;

use clap::{Args, Subcommand};
use flamestack_engine::settings::{self, Scope, SetBy, Setting, Settings, ValueOrigin};
use serde_json::{Value, json};

use crate::commands::editor;
use crate::failure::Failure;
use crate::output::{DIM, Output, painted};
use crate::{command_context, complete};

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
        #[arg(add = complete::setting_keys())]
        prefix: Option<String>,
        /// Print descriptions and allowed values too
        #[arg(short, long)]
        long: bool,
    },
    /// Print the value of a setting
    Get {
        /// The setting
        #[arg(add = complete::setting_keys())]
        key: String,
    },
    /// Change a setting
    ///
    /// For example `flame config set gc.max_size "100 MB"`. The value is stored in your settings file
    /// and applies to all projects, unless a project overrides it.
    Set {
        /// The setting
        #[arg(add = complete::setting_keys())]
        key: String,
        /// Its new value
        value: String,
        /// For this project only, on this machine
        #[arg(long)]
        project: bool,
    },
    /// Print the path of the settings file
    Path {
        /// The settings file of this project instead of the user file
        #[arg(long)]
        project: bool,
    },
    /// Open the settings file in your editor (`VISUAL` or `EDITOR`)
    Edit {
        /// The settings file of this project instead of the user file
        #[arg(long)]
        project: bool,
    },
    /// Remove a value; the next layer's value applies again
    Unset {
        /// The setting
        #[arg(add = complete::setting_keys())]
        key: String,
        /// Remove this project's value on this machine instead of the user's
        #[arg(long)]
        project: bool,
    },
}

impl Config {
    /// Returns true if it changes redaction, or a setting that a team file may not set either.
    pub(crate) fn changes_the_users(&self) -> bool {
        match &self.what {
            What::Set { key, .. } | What::Unset { key, .. } => {
                let is_the_users = |setting: &Setting| setting.set_by == SetBy::User;
                key.starts_with("redact.") || settings::setting(key).is_ok_and(is_the_users)
            }
            _ => false,
        }
    }

    /// Does not open the store, so that settings can be fixed when nothing else works.
    pub(crate) fn run(self, dir: Option<&Path>, output: &mut Output) -> Result<(), Failure> {
        let home = command_context::home()?;
        let project = command_context::project(dir, &home)?;
        let survey = || Settings::survey(&home, &project, &|name| std::env::var(name).ok());
        match self.what {
            What::List { prefix, long } => {
                list(output, &survey()?, &prefix.unwrap_or_default(), long)
            }
            What::Path { project: only_here } => {
                let file = scope(only_here).file(&home, &project);
                if output.is_json() {
                    let (file, exists) = (file.display().to_string(), file.exists());
                    return output.data(&json!({ "file": file, "exists": exists }));
                }
                output.raw(&format!("{}\n", file.display()))
            }
            What::Edit { project: only_here } => {
                edit(&scope(only_here).file(&home, &project))?;
                print_ignored(output, &survey()?.problems().iter().collect::<Vec<_>>())
            }
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
                let scope = scope(only_here);
                let changed = settings::unset(&home, &project, scope, &key)?.is_some();
                print_unset(
                    output,
                    &survey()?,
                    &key,
                    changed,
                    &scope.file(&home, &project),
                )
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
    changed: bool,
    file: &Path,
) -> Result<(), Failure> {
    let now = settings.get(key).ok();
    let file = file.display().to_string();
    if output.is_json() {
        return output.data(&json!({
            "key": key,
            "changed": changed,
            "file": changed.then_some(&file),
            "value": now.map(|value| value.text.clone()),
            "origin": now.map(|value| value.origin.to_string()),
        }));
    }
    output.line(if changed {
        format!("{key} is no longer set in {file}")
    } else {
        format!("{key} is not set in {file}")
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

/// Opens a settings file in the user's editor.
fn edit(file: &Path) -> Result<(), Failure> {
    if let Some(dir) = file.parent() {
        fs_err::create_dir_all(dir)?;
    }
    editor::open(file, "use `flame config set`")
}

fn list(output: &mut Output, settings: &Settings, prefix: &str, long: bool) -> Result<(), Failure> {
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
    let is_default = |value: &settings::Value| value.origin == ValueOrigin::BuiltIn;
    let canvas = output.canvas();
    for (setting, value) in chosen {
        let origin = if is_default(value) && !long {
            String::new()
        } else {
            format!("  {}", painted(DIM, &value.origin))
        };
        output.line(format!("{} = {}{origin}", setting.key, value.text))?;
        if long {
            let about = format!("{} Takes {}.", setting.about, setting.takes());
            output.text(&canvas.paragraph("    ", &about))?;
        }
    }
    if !long && output.is_terminal() {
        output.dim("`--long` describes them; values without an origin are defaults.")?;
    }
    print_ignored(output, &problems)
}
