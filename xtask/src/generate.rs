//! `cargo xtask generate`: files that are made from code.

mod plugin;
mod sessions;

use anyhow::{Result, bail};
use flamestack_engine::settings::{KNOWN, SetBy};

/// Each generated file and the content that it should have.
fn files() -> Result<[(&'static str, String); 3]> {
    let sessions = fs_err::read_to_string(crate::root()?.join("docs/sessions.md"))?;
    Ok([
        ("docs/configuration.md", configuration()),
        ("docs/sessions.md", sessions::page(&sessions)?),
        ("plugins/opencode/src/generated.ts", plugin::declarations()?),
    ])
}

/// Writes the generated files.
pub(crate) fn write() -> Result<()> {
    for (path, text) in files()? {
        fs_err::write(crate::root()?.join(path), text)?;
        println!("written: {path}");
    }
    // The protocol's types become TypeScript in a test, so that no build carries what does that.
    let written = std::process::Command::new(env!("CARGO"))
        .args([
            "test",
            "-q",
            "-p",
            "flamestack-hosts",
            "--lib",
            "typescript",
        ])
        .env("FLAME_GENERATE", "1")
        .current_dir(crate::root()?)
        .status()?;
    if !written.success() {
        bail!("the TypeScript of the protocol was not written");
    }
    println!("written: plugins/opencode/src/protocol.ts");
    Ok(())
}

/// Fails if a generated file differs from what the code says.
pub(crate) fn check() -> Result<()> {
    for (path, text) in files()? {
        if fs_err::read_to_string(crate::root()?.join(path))? != text {
            bail!("{path} is stale: run `cargo xtask generate`");
        }
    }
    println!("generated files: fresh");
    Ok(())
}

fn configuration() -> String {
    let mut text = String::from(
        "# Configuration\n\n\
         <!-- Made from crates/engine/src/settings/known.rs by `cargo xtask generate`. -->\n\n\
         A value comes from the first of these that has one:\n\n\
         1. a flag of the command, where there is one;\n\
         2. the environment;\n\
         3. the project file: `config.toml` in the project's state directory \
         (`flame config set --project KEY VALUE`);\n\
         4. the team file: `.flamestack.toml` in the root of the repository, if you keep one;\n\
         5. the user file: `flamestack/config.toml` in your configuration directory \
         (`flame config set KEY VALUE`);\n\
         6. the default.\n\n\
         `flame config list` shows every value with its origin. A bad value is \
         named with its place, and commands and the sidecar use the default instead. Two things stop: \
         nothing is recorded while `redact.rules` is bad or a settings file cannot be read, since secrets \
         could be stored; and `flame gc` without `--max-size` and automatic clean-ups delete nothing \
         while a `gc.*` value is bad or a file cannot be read. An unknown key stops nothing and is named there.\n\n\
         The team file comes with the repository, so it may only set what shapes contexts and briefs, and \
         add redaction rules. Everything that acts, sends, prompts, deletes, permits or times out is \
         yours alone: such a key in the team file is ignored and reported. Each setting below says which \
         kind it is.\n\n\
         Two variables are not settings: `FLAME_STATE_DIR` moves all state to another directory (an absolute path), \
         and `FLAME_SESSION` names the session that a command acts in.\n",
    );
    for setting in KNOWN {
        text.push_str(&format!(
            "\n## `{}`\n\n{}\n\n- takes {}\n- default: {}\n- team file: {}\n- environment: {}\n",
            setting.key,
            setting.about,
            setting.takes(),
            match setting.default {
                "" => "none".to_owned(),
                default => format!("`{default}`"),
            },
            match setting.set_by {
                SetBy::User => "no, only you can set it",
                SetBy::Team => "may set it",
            },
            setting
                .environment()
                .iter()
                .map(|name| format!("`{name}`"))
                .collect::<Vec<_>>()
                .join(", ")
        ));
    }
    text
}
