//! How a command fails: a kind, which decides the exit code, a sentence, and a hint.

use flamestack_core::refusal::Voice;
use flamestack_engine::EngineError;

/// Why a command did not succeed.
///
/// The exit code is 2 where the command line is not one: a command, option, tool or setting that
/// does not exist, or a value that has not the form or the range that it must have. It is 1 where
/// the command was understood and refused, or something needs attention: a name or a file that is
/// not there, a text that is empty, a rule, a store that cannot be read.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Something to say.
    Told {
        /// The command was used wrongly (exit code 2), rather than refused (exit code 1).
        usage: bool,
        /// What was wrong.
        message: String,
        /// What to do next.
        hint: Option<String>,
    },
    /// Everything was said on standard output already, and something needs attention.
    Attention,
    /// The reader of our output went away.
    BrokenPipe,
}

impl Failure {
    /// The command was used wrongly.
    pub(crate) fn usage(message: impl Into<String>, hint: &str) -> Self {
        Self::Told {
            usage: true,
            message: message.into(),
            hint: Some(hint.to_owned()),
        }
    }

    /// The command was understood, and refused.
    pub(crate) fn refused(message: impl Into<String>, hint: &str) -> Self {
        Self::Told {
            usage: false,
            message: message.into(),
            hint: Some(hint.to_owned()),
        }
    }

    /// What the command line cannot be taken for, in the shape of every other failure; nothing where
    /// it asked for help.
    pub(crate) fn misused(error: &clap::Error) -> Option<Self> {
        use clap::error::ErrorKind;
        let (message, hint) = match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => return None,
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => (
                "no command was named".to_owned(),
                Some("`--help` lists the commands".to_owned()),
            ),
            _ => {
                let text = error.render().to_string();
                let mut paragraphs = text
                    .split("\n\n")
                    .map(|lines| lines.split_whitespace().collect::<Vec<_>>().join(" "));
                let message = paragraphs.next().unwrap_or_default();
                let rest: Vec<String> = paragraphs.filter(|text| !text.is_empty()).collect();
                (
                    message.trim_start_matches("error: ").to_owned(),
                    (!rest.is_empty()).then(|| rest.join(" · ")),
                )
            }
        };
        Some(Self::Told {
            usage: true,
            message,
            hint,
        })
    }

    /// What there is to say could not be written to standard output.
    pub(crate) fn unwritten(error: &std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            return Self::BrokenPipe;
        }
        Self::Told {
            usage: false,
            message: format!("the output could not be written: {error}"),
            hint: Some("send it somewhere else; what was recorded is kept".to_owned()),
        }
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        let usage = matches!(
            error,
            EngineError::UnknownTool { .. }
                | EngineError::BadArguments { .. }
                | EngineError::UnknownSetting { origin: None, .. }
                | EngineError::BadSetting { origin: None, .. }
                | EngineError::BadSession(_)
                | EngineError::BudgetTooSmall(_)
        );
        Self::Told {
            usage,
            message: error.to_string(),
            hint: error.hint(Voice::Cli),
        }
    }
}

impl From<flamestack_hosts::install::InstallError> for Failure {
    fn from(error: flamestack_hosts::install::InstallError) -> Self {
        Self::Told {
            usage: false,
            message: error.to_string(),
            hint: Some(error.hint()),
        }
    }
}

impl From<flamestack_store::StoreError> for Failure {
    fn from(error: flamestack_store::StoreError) -> Self {
        EngineError::from(error).into()
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            Self::BrokenPipe
        } else {
            Self::Told {
                usage: false,
                message: error.to_string(),
                hint: flamestack_engine::error::io_hint(&error),
            }
        }
    }
}
