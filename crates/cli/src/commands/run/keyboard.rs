//! Lines that the user types during a run.
//!
//! Where the live view is drawn, the terminal neither echoes nor edits: the line is drawn below the view, so
//! that it survives each drawing. Elsewhere lines are read as the terminal hands them over.

use std::io::{BufRead as _, Read as _, Write as _};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use flamestack_engine::views::canvas::columns;
use flamestack_engine::views::printable;

/// Text before the line that is typed.
const PROMPT: &str = "> ";

/// The user's keyboard.
pub(super) struct Keyboard {
    lines: Receiver<String>,
    /// The line below the view; none if the terminal shows it.
    line: Option<Arc<Mutex<TypedLine>>>,
}

impl Keyboard {
    /// Reads lines as the terminal hands them over.
    pub(super) fn plain() -> Self {
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in std::io::stdin().lock().lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self { lines, line: None }
    }

    /// Reads keys and draws the line itself, if the terminal can be set up for that.
    pub(super) fn drawn() -> Self {
        if !terminal::read_keys() {
            return Self::plain();
        }
        let (sender, lines) = channel();
        let line = Arc::new(Mutex::new(TypedLine::default()));
        let shared = Arc::clone(&line);
        std::thread::spawn(move || read_keys(&shared, &sender));
        Self {
            lines,
            line: Some(line),
        }
    }

    /// Returns the lines that were typed since the last call.
    pub(super) fn typed(&self) -> Vec<String> {
        self.lines.try_iter().collect()
    }

    /// Waits for a line.
    pub(super) fn wait(&self, at_most: Duration) -> Result<String, RecvTimeoutError> {
        self.lines.recv_timeout(at_most)
    }

    /// Returns the line to draw below the view, whose keys draw it again from now on; none if the terminal
    /// shows what is typed.
    pub(super) fn show(&self, width: usize) -> Option<String> {
        let mut line = locked(self.line.as_ref()?);
        line.width = Some(width);
        Some(line.drawn())
    }

    /// Leaves the screen to others until the line is shown again.
    pub(super) fn hide(&self) {
        if let Some(line) = &self.line {
            locked(line).width = None;
        }
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        if self.line.is_some() {
            self.hide();
            terminal::restore();
        }
    }
}

/// Gives the terminal back as it was.
pub(super) fn restore() {
    terminal::restore();
}

fn locked(line: &Mutex<TypedLine>) -> MutexGuard<'_, TypedLine> {
    line.lock().unwrap_or_else(PoisonError::into_inner)
}

fn read_keys(shared: &Mutex<TypedLine>, sender: &Sender<String>) {
    let mut keys = [0; 256];
    loop {
        let count = match std::io::stdin().lock().read(&mut keys) {
            Ok(0) => return,
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => return,
        };
        let mut line = locked(shared);
        for key in keys.iter().take(count) {
            if let Some(whole) = line.press(*key)
                && sender.send(whole).is_err()
            {
                return;
            }
        }
        if line.width.is_some() {
            let mut out = std::io::stdout();
            // A terminal that is gone ends the run elsewhere.
            drop(out.write_all(format!("\r\x1b[K{}", line.drawn()).as_bytes()));
            drop(out.flush());
        }
    }
}

/// A line that is being typed.
#[derive(Default)]
struct TypedLine {
    bytes: Vec<u8>,
    escape: Escape,
    /// Columns for it, while it is on the screen.
    width: Option<usize>,
}

/// Position in a sequence that a special key sends.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Escape {
    #[default]
    None,
    /// After the escape character.
    Begun,
    /// Inside of parameters.
    Parameters,
}

impl TypedLine {
    /// Takes one byte of the keyboard. Returns the line when it is complete.
    fn press(&mut self, key: u8) -> Option<String> {
        if self.escape != Escape::None {
            self.escape = match (self.escape, key) {
                (Escape::Begun, b'[' | b'O') | (Escape::Parameters, 0x20..=0x3f) => {
                    Escape::Parameters
                }
                _ => Escape::None,
            };
            return None;
        }
        match key {
            b'\n' | b'\r' => {
                let bytes = std::mem::take(&mut self.bytes);
                return Some(String::from_utf8_lossy(&bytes).into_owned());
            }
            0x1b => self.escape = Escape::Begun,
            0x7f | 0x08 => self.remove_letter(),
            // Ctrl-U and Ctrl-W.
            0x15 => self.bytes.clear(),
            0x17 => self.remove_word(),
            b'\t' => self.bytes.push(b' '),
            0..0x20 => {}
            _ => self.bytes.push(key),
        }
        None
    }

    fn remove_letter(&mut self) {
        while let Some(byte) = self.bytes.pop() {
            // The other bytes of a letter begin with the bits 10.
            if byte & 0xc0 != 0x80 {
                return;
            }
        }
    }

    fn remove_word(&mut self) {
        while self.bytes.pop_if(|byte| *byte == b' ').is_some() {}
        while self.bytes.pop_if(|byte| *byte != b' ').is_some() {}
    }

    /// Returns the line as it is drawn: its end, if it is too long.
    fn drawn(&self) -> String {
        let text = printable(&String::from_utf8_lossy(&self.bytes));
        let width = self.width.unwrap_or(usize::MAX);
        let room = width.saturating_sub(PROMPT.len() + 1);
        let mut rest = text.as_str();
        while columns(rest) > room {
            let mut letters = rest.chars();
            letters.next();
            rest = letters.as_str();
        }
        format!("{PROMPT}{rest}")
    }
}

#[cfg(unix)]
mod terminal {
    //! The terminal's own handling of lines.

    use std::sync::{Mutex, PoisonError};

    use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

    /// Settings to go back to.
    static FORMER: Mutex<Option<Termios>> = Mutex::new(None);

    /// Has keys handed over one by one, without echo. Ctrl-C keeps its meaning.
    pub(super) fn read_keys() -> bool {
        let stdin = std::io::stdin();
        let Ok(former) = tcgetattr(&stdin) else {
            return false;
        };
        let mut settings = former.clone();
        settings
            .local_modes
            .remove(LocalModes::ECHO | LocalModes::ICANON);
        let is_set = tcsetattr(&stdin, OptionalActions::Now, &settings).is_ok();
        if is_set {
            *FORMER.lock().unwrap_or_else(PoisonError::into_inner) = Some(former);
        }
        is_set
    }

    /// Sets the terminal as it was.
    pub(super) fn restore() {
        let former = FORMER.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(former) = former {
            // A terminal that is gone needs nothing.
            tcsetattr(std::io::stdin(), OptionalActions::Now, &former).ok();
        }
    }
}

#[cfg(not(unix))]
mod terminal {
    //! Terminals whose handling of lines is left as it is.

    pub(super) fn read_keys() -> bool {
        false
    }

    pub(super) fn restore() {}
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(keys: &[u8]) -> (Vec<String>, String) {
        let mut line = TypedLine::default();
        let whole = keys.iter().filter_map(|key| line.press(*key)).collect();
        (whole, String::from_utf8_lossy(&line.bytes).into_owned())
    }

    #[test]
    fn keys_edit_the_line() {
        let (whole, rest) = typed("Use pört\x7f 80\x7f\x7f\x7f\x7f8\nnew line\x17x".as_bytes());
        assert_eq!(whole, ["Use pö8"]);
        assert_eq!(rest, "new x");
        assert_eq!(typed(b"all of it\x15none").1, "none");
    }

    #[test]
    fn special_keys_type_nothing() {
        assert_eq!(typed(b"a\x1b[Ab\x1b[1;5Cc\x1bOPd\x01\x04e").1, "abcde");
    }

    #[test]
    fn a_long_line_shows_its_end() {
        let mut line = TypedLine {
            width: Some(10),
            ..TypedLine::default()
        };
        for key in "0123456789日本".bytes() {
            line.press(key);
        }
        assert_eq!(line.drawn(), "> 789日本");
    }
}
