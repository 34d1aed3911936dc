//! The barest sidecar: it answers every line with the line it was given as its argument and reads
//! nothing of what it is asked. What a real sidecar takes beyond this is its own work.

#![expect(clippy::print_stderr, reason = "it has nothing else to say")]

use std::io::{self, BufRead, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn serve() -> io::Result<()> {
    let answer = std::env::args().nth(1).unwrap_or_default() + "\n";
    let mut input = io::stdin().lock();
    let mut output = io::stdout().lock();
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line)? > 0 {
        output.write_all(answer.as_bytes())?;
        output.flush()?;
        line.clear();
    }
    Ok(())
}
