//! The terminal view: the tree, a frame, what the model was sent, and a flame graph in cells.
//!
//! One thread reads the journal and answers questions; this one reads keys and draws what it has got. A
//! key is therefore answered immediately, however much is still to be read.

mod draw;
mod keys;
mod reader;
mod state;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use flamestack_core::SessionRef;
use flamestack_engine::Engine;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, DisableMouseCapture, EnableMouseCapture, Event};
use ratatui::crossterm::execute;

pub use self::draw::{Palette, draw};
pub use self::keys::{Key, Pressed};
pub use self::reader::{Question, Reader, ViewAnswer};
pub use self::state::{Pane, ViewState};

/// Longest wait for a key before new answers are looked at.
const TICK: Duration = Duration::from_millis(50);

/// Options of the view.
pub struct TerminalOptions {
    /// The session of the user, which is marked.
    pub own: SessionRef,
    /// Colours.
    pub palette: Palette,
    /// True if clicks are wanted; the terminal's own selection of text then needs a modifier key.
    pub mouse: bool,
}

/// Shows the view until the user leaves it.
pub fn run(engine: Arc<Engine>, options: &TerminalOptions) -> std::io::Result<()> {
    let (ask, questions) = channel();
    let (tell, answers) = channel();
    let reader = Reader::new(engine, tell);
    // The thread ends with its next question; the process need not wait for what it is reading.
    std::thread::Builder::new()
        .name("journal".to_owned())
        .spawn(move || reader.run(&questions))?;
    in_terminal(options.mouse, |terminal| {
        show(terminal, options, &ask, &answers)
    })
}

/// Takes over the terminal for a piece of work. It is restored on every way out, also a panic of any thread,
/// whose message is then readable.
pub fn in_terminal(
    mouse: bool,
    work: impl FnOnce(&mut DefaultTerminal) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let mut terminal = ratatui::try_init()?;
    if mouse {
        execute!(std::io::stdout(), EnableMouseCapture)?;
        let restore = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            // Nothing is left to do about a terminal that cannot be written to.
            _ = execute!(std::io::stdout(), DisableMouseCapture);
            restore(panic);
        }));
    }
    let done = work(&mut terminal);
    if mouse {
        execute!(std::io::stdout(), DisableMouseCapture)?;
    }
    ratatui::try_restore()?;
    done
}

fn show(
    terminal: &mut DefaultTerminal,
    options: &TerminalOptions,
    ask: &Sender<Question>,
    answers: &Receiver<ViewAnswer>,
) -> std::io::Result<()> {
    let mut state = ViewState::new(options.own.to_string());
    let mut is_stale = true;
    loop {
        while let Ok(answer) = answers.try_recv() {
            state.hear(answer);
            is_stale = true;
        }
        for question in state.questions() {
            // The reader ends only by a panic, and that has restored the terminal already.
            if ask.send(question).is_err() {
                return Err(std::io::Error::other("reading the journal failed"));
            }
        }
        if is_stale {
            terminal.draw(|frame| draw(frame, &mut state, &options.palette))?;
            is_stale = false;
        }
        if !event::poll(TICK)? {
            continue;
        }
        is_stale = true;
        match event::read()? {
            Event::Key(key) if key.is_press() && state.press(Key::of(&key)) == Pressed::Leave => {
                return Ok(());
            }
            Event::Mouse(mouse) if options.mouse => state.click(&mouse),
            _ => {}
        }
    }
}
