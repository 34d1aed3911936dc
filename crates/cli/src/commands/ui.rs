//! `flame ui`

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use flamestack_ui::page::{self, PageError, PageOptions};

use crate::command_context::{CommandContext, home};
use crate::failure::Failure;
use crate::output::Output;

/// Time for which the file that opens the page exists.
const OPENING: Duration = Duration::from_mins(1);

/// Open a live page with the tree, flame graphs, sessions and what the model was sent
///
/// Prints the address of the page and serves it to this machine alone until you press Ctrl-C. The
/// address works once; after that the browser is remembered. What you do on the page is recorded as yours.
#[derive(Args)]
pub(crate) struct Ui {
    /// The port of the page (default: any free one)
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// Do not open a browser
    #[arg(long)]
    no_open: bool,
}

impl Ui {
    pub(crate) fn run(self, ctx: CommandContext, output: &mut Output) -> Result<(), Failure> {
        let budget = ctx.settings.number("brief.budget")?;
        let options = PageOptions {
            port: self.port,
            actor: ctx.actor,
            home: home()?,
            brief_budget: usize::try_from(budget).unwrap_or(usize::MAX),
        };
        let folder = ctx.engine.project().dir.clone();
        let mut said = Ok(());
        let served = page::serve(Arc::new(ctx.engine), options, |address| {
            said = output.line(address).and_then(|()| output.flush());
            if !self.no_open {
                open(&folder, address);
            }
        });
        said?;
        served.map_err(|error| {
            let hint = match &error {
                PageError::Port { .. } => "choose another `--port`, or leave it out",
                PageError::Randomness(_) | PageError::Server(_) => "try again",
            };
            Failure::refused(error.to_string(), hint)
        })
    }
}

/// Opens the page in the user's browser. The address is handed over in a private file: every user of
/// the machine can read the arguments of a program. If there is no browser, the printed address is
/// enough.
fn open(folder: &Path, address: &str) {
    let Some(file) = opening_file(folder, address) else {
        return;
    };
    let (program, arguments): (&str, &[&str]) = if cfg!(target_os = "macos") {
        ("open", &[])
    } else if cfg!(windows) {
        ("explorer", &[])
    } else {
        ("xdg-open", &[])
    };
    let browser = Command::new(program)
        .args(arguments)
        .arg(&file)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    std::thread::spawn(move || {
        if let Ok(mut browser) = browser
            && let Err(error) = browser.wait()
        {
            tracing::debug!("no browser was opened: {error}");
        }
        std::thread::sleep(OPENING);
        if let Err(error) = fs_err::remove_file(&file) {
            tracing::debug!("the file that opened the page is left: {error}");
        }
    });
}

/// Writes a page that leads to the address, for its owner alone.
fn opening_file(folder: &Path, address: &str) -> Option<PathBuf> {
    use std::io::Write as _;
    if !folder.is_dir() {
        return None;
    }
    let path = folder.join("open-page.html");
    let page = format!(
        "<!doctype html><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"0; url={address}\">\
         <title>Flamestack</title><a href=\"{address}\">Open the page</a>\n"
    );
    let mut file = flamestack_store::private_file(&path).ok()?;
    file.set_len(0)
        .and_then(|()| file.write_all(page.as_bytes()))
        .ok()?;
    Some(path)
}
