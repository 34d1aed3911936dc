//! Failures of a command: a kind that decides the exit code, a message and a hint.

use flamestack_engine::EngineError;
use flamestack_engine::hints::Voice;

/// The reason why a command did not succeed.
///
/// The exit code is 2 if the command line is invalid: an unknown command, option, tool or setting,
/// or an invalid value. It is 1 if the command was understood and refused, or if something needs
/// attention: a missing frame or file, an empty text, a rule, an unreadable store.
#[derive(Debug)]
pub(crate) enum Failure {
    /// An error with a message.
    Message {
        /// The command was used wrongly (exit code 2), rather than refused (exit code 1).
        usage: bool,
        /// The error, in one sentence.
        message: String,
        /// The next step to take.
        hint: Option<String>,
    },
    /// The exit code of another program, which has said everything itself.
    Exit(u8),
    /// Something needs attention, and standard output already says what.
    Attention,
    /// The reader of our output went away.
    BrokenPipe,
}

impl Failure {
    /// Returns a failure for an invalid command line.
    pub(crate) fn usage(message: impl Into<String>, hint: &str) -> Self {
        Self::Message {
            usage: true,
            message: message.into(),
            hint: Some(hint.to_owned()),
        }
    }

    /// Returns a failure for a command that was understood and refused.
    pub(crate) fn refused(message: impl Into<String>, hint: &str) -> Self {
        Self::failed(message, Some(hint.to_owned()))
    }

    /// Returns a failure of a command that was understood, with a hint if there is one.
    pub(crate) fn failed(message: impl Into<String>, hint: Option<String>) -> Self {
        Self::Message {
            usage: false,
            message: message.into(),
            hint,
        }
    }

    /// Converts an error of the argument parser; `None` if the user asked for help.
    pub(crate) fn misused(error: &clap::Error) -> Option<Self> {
        use clap::error::ErrorKind;
        let (message, hint) = match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => return None,
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => (
                "no command given".to_owned(),
                Some("`--help` lists the commands".to_owned()),
            ),
            _ => {
                let text = error.render().to_string();
                // A second form of the usage is on a line of its own.
                let text = text.replace("\n       flame ", " or flame ");
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
        Some(Self::Message {
            usage: true,
            message,
            hint,
        })
    }

    /// Returns a failure for output that could not be written.
    pub(crate) fn unwritten(error: &std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            return Self::BrokenPipe;
        }
        Self::refused(
            format!("the output could not be written: {error}"),
            "redirect it elsewhere; everything recorded is kept",
        )
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
        Self::Message {
            usage,
            message: error.to_string(),
            hint: error.hint(Voice::Cli),
        }
    }
}

impl From<flamestack_hosts::legacy::ExportError> for Failure {
    fn from(error: flamestack_hosts::legacy::ExportError) -> Self {
        let hint = error.hint();
        let hint = hint.as_deref().unwrap_or("name a writable folder");
        Self::refused(error.to_string(), hint)
    }
}

impl From<flamestack_hosts::install::InstallError> for Failure {
    fn from(error: flamestack_hosts::install::InstallError) -> Self {
        Self::refused(error.to_string(), &error.hint())
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
            Self::failed(error.to_string(), flamestack_engine::error::io_hint(&error))
        }
    }
}
