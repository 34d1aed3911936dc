//! How a command fails: a kind, which decides the exit code, a sentence, and a hint.

use flamestack_core::refusal::Voice;
use flamestack_engine::EngineError;

/// Why a command did not succeed.
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
