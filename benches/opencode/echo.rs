//! The barest sidecar: it answers every line with the same line, which it was given, and looks at
//! nothing. What a real one takes beyond this is its own work.
//!
//! `echo ANSWER [QUESTIONS ANSWERS]`: with the names of two pipes it reads and answers there, and
//! answers on standard output as well, as a real one does on a direct line.

#![expect(clippy::print_stderr, reason = "it has nothing else to say")]
#![expect(
    clippy::exit,
    reason = "whoever reads a pipe without an end cannot be told otherwise"
)]

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::process::ExitCode;
use std::thread;

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
    let mut arguments = std::env::args().skip(1);
    let answer = arguments.next().unwrap_or_default() + "\n";
    // For both, so that neither is waited for.
    let pipe = |path| OpenOptions::new().read(true).write(true).open(path);
    let (mut input, mut direct): (Box<dyn BufRead>, Option<File>) =
        match (arguments.next(), arguments.next()) {
            (Some(questions), Some(answers)) => {
                let questions = BufReader::new(pipe(questions)?);
                // A pipe that is open for writing here has no end; the input has one.
                thread::spawn(|| {
                    let _ = io::copy(&mut io::stdin(), &mut io::sink());
                    std::process::exit(0);
                });
                (Box::new(questions), Some(pipe(answers)?))
            }
            _ => (Box::new(io::stdin().lock()), None),
        };
    let mut output = io::stdout().lock();
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line)? > 0 {
        if let Some(direct) = &mut direct {
            direct.write_all(answer.as_bytes())?;
        }
        output.write_all(answer.as_bytes())?;
        output.flush()?;
        line.clear();
    }
    Ok(())
}
