//! Reads command lines: the files that they change, and what their outcome says about the work.
//!
//! - `parse` splits a command line into commands with words and redirections (`shlex` knows neither
//!   redirections nor separators, and a word that needs expansion must not name a file);
//! - `invocation` finds the program that a command runs after wrappers such as `env` and `npx`;
//! - `changes` guesses which files a command changed, `commits` which commits it made;
//! - `programs` classifies programs by the table in `data/programs.txt`.

mod changes;
mod commits;
mod invocation;
mod parse;
mod programs;

pub(crate) use commits::subject;
pub(crate) use invocation::{git_words, invocation, unwrapped};
pub(crate) use parse::{Operator, SimpleCommand};

pub use changes::{FileChanges, file_changes};
pub use commits::commits;
pub use programs::{CommandKind, command_kind};
