//! Text machinery: words, names, phrases, relevance and extractive summaries.
//!
//! Pure functions from transcripts and texts to the parts of them that are worth keeping. Nothing
//! here decides what happens to a frame; the rules are in `flamestack-core`.
//!
//! - [`lex`] cuts text into words, names and terms;
//! - [`utterance`] says who wrote each text of a transcript;
//! - [`names`] and [`phrases`] count where a session's names and phrases occur;
//! - [`score`] says how likely each is needed again;
//! - [`summary`] chooses the passages and names of a summary;
//! - [`relevance`] ranks finished frames by what they have in common with a goal;
//! - [`shell`] guesses which files a command line changed;
//! - [`failure`] finds the lines of a tool's output that say why it failed;
//! - [`state`] derives where the work stands: the request, the last check, changed files, what comes next;
//! - [`tokens`] is the interface to a tokenizer.
//!
//! Weights and word lists are files below `data/`, which say where they come from.

mod arguments;
mod data;
pub mod failure;
pub mod lex;
pub mod names;
pub mod phrases;
pub mod relevance;
pub mod score;
pub mod shell;
pub mod state;
pub mod summary;
pub mod tokens;
pub mod utterance;
