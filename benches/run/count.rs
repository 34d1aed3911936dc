//! Counts tokens for the benchmark of `flame run`: one JSON string per line in, one number per line out.

#![expect(clippy::print_stderr, reason = "it has nothing else to say")]

use std::io::{self, BufRead, Write};
use std::process::ExitCode;

use flamestack_extract::tokens::Tokenizer as _;
use flamestack_tokens::O200k;

fn main() -> ExitCode {
    match count() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn count() -> io::Result<()> {
    let mut output = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let text: String = serde_json::from_str(&line?)?;
        writeln!(output, "{}", O200k.count(&text))?;
    }
    Ok(())
}
