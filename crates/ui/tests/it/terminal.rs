//! The terminal view, drawn into a buffer.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use flamestack_ui::terminal::{Key, Palette, Pane, Pressed, Reader, ViewAnswer, ViewState, draw};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use crate::ground::{Ground, SESSION};

/// A view of a project, with its reader in another thread.
struct Screen {
    terminal: Terminal<TestBackend>,
    state: ViewState,
    ask: std::sync::mpsc::Sender<flamestack_ui::terminal::Question>,
    answers: std::sync::mpsc::Receiver<ViewAnswer>,
    ground: Arc<Ground>,
}

impl Screen {
    fn new(ground: Ground, columns: u16) -> Self {
        let ground = Arc::new(ground);
        let (ask, questions) = channel();
        let (tell, answers) = channel();
        let engine = Arc::clone(&ground.engine);
        std::thread::spawn(move || Reader::new(engine, tell).run(&questions));
        let mut screen = Self {
            terminal: Terminal::new(TestBackend::new(columns, 16)).unwrap(),
            state: ViewState::new(SESSION.to_owned()),
            ask,
            answers,
            ground,
        };
        screen.settle();
        screen
    }

    /// Draws and asks until nothing new comes for a while.
    fn settle(&mut self) {
        loop {
            self.draw();
            for question in self.state.questions() {
                self.ask.send(question).unwrap();
            }
            match self.answers.recv_timeout(Duration::from_millis(700)) {
                Ok(answer) => self.state.hear(answer),
                Err(_) => break,
            }
        }
        self.draw();
    }

    fn draw(&mut self) {
        let state = &mut self.state;
        self.terminal
            .draw(|frame| draw(frame, state, &Palette::Plain))
            .unwrap();
    }

    fn press(&mut self, keys: &[Key]) -> String {
        for key in keys {
            assert_eq!(self.state.press(*key), Pressed::Stay);
        }
        self.settle();
        self.text()
    }

    fn text(&self) -> String {
        self.terminal.backend().to_string()
    }
}

#[test]
fn forty_columns() {
    let mut screen = Screen::new(Ground::with_story(), 40);
    insta::assert_snapshot!("tree_40", screen.text());
    insta::assert_snapshot!("flame_40", screen.press(&[Key::Pane(Pane::Flame)]));
    insta::assert_snapshot!("help_40", screen.press(&[Key::Help]));
}

#[test]
fn eighty_columns() {
    let mut screen = Screen::new(Ground::with_story(), 80);
    insta::assert_snapshot!("tree_80", screen.text());
    insta::assert_snapshot!(
        "detail_80",
        screen.press(&[Key::First, Key::Down, Key::Down, Key::Enter])
    );
    insta::assert_snapshot!("context_80", screen.press(&[Key::Next]));
    insta::assert_snapshot!("flame_80", screen.press(&[Key::Next, Key::Down, Key::Down]));
}

#[test]
fn two_hundred_columns() {
    let mut screen = Screen::new(Ground::with_story(), 200);
    insta::assert_snapshot!("tree_200", screen.press(&[Key::First]));
    insta::assert_snapshot!("flame_200", screen.press(&[Key::Measure]));
}

#[test]
fn an_empty_project() {
    let screen = Screen::new(Ground::new(), 60);
    insta::assert_snapshot!("empty_60", screen.text());
}

#[test]
fn branches_close_and_open_and_the_selection_stays() {
    let mut screen = Screen::new(Ground::with_story(), 80);
    let closed = screen.press(&[Key::First, Key::Left]);
    assert!(!closed.contains("Cart"), "{closed}");
    let open = screen.press(&[Key::Right]);
    assert!(open.contains("Cart"), "{open}");
    screen.press(&[Key::Help]);
    let shut = screen.press(&[Key::Other]);
    assert!(!shut.contains("this help"), "{shut}");
    screen.press(&[Key::Last]);
    let last = screen.state.rows.last().unwrap().id.clone();
    screen.ground.push(SESSION, "Something new");
    let after = screen.press(&[]);
    assert!(after.contains("Something new"), "{after}");
    let again = screen.press(&[Key::Enter]);
    assert!(again.contains(&last), "{again}");
}

#[test]
fn it_begins_where_the_users_session_works() {
    let mut screen = Screen::new(Ground::with_story(), 80);
    let mut rows = screen.state.rows.iter();
    let own = rows.find(|row| row.active_in.iter().any(|it| it == SESSION));
    let id = own.unwrap().id.clone();
    let shown = screen.press(&[Key::Enter]);
    assert!(shown.contains(&id), "{shown}");
}

#[test]
fn the_tree_is_shown_while_the_amounts_are_counted() {
    let ground = Ground::with_story();
    ground.calls(SESSION, 2_100);
    let (ask, questions) = channel();
    let (tell, answers) = channel();
    let engine = Arc::clone(&ground.engine);
    let mut state = ViewState::new(SESSION.to_owned());
    for question in state.questions() {
        ask.send(question).unwrap();
    }
    std::thread::spawn(move || Reader::new(engine, tell).run(&questions));
    let mut shown = Vec::new();
    while shown.last() != Some(&true) {
        let answer = answers.recv_timeout(Duration::from_secs(20)).unwrap();
        if let ViewAnswer::Rows { is_counted, .. } = &answer {
            shown.push(*is_counted);
        }
        state.hear(answer);
        let has_amounts = state.summary.contains("tokens");
        assert_eq!(
            has_amounts,
            shown.last() == Some(&true),
            "{}",
            state.summary
        );
        assert_eq!(state.loading.is_none(), has_amounts);
        assert_eq!(state.rows.is_empty(), shown.is_empty());
        for question in state.questions() {
            ask.send(question).unwrap();
        }
    }
    assert_eq!(shown, [false, true]);
}

#[test]
fn every_key_is_answered_while_the_journal_is_read() {
    let mut screen = Screen::new(Ground::new(), 80);
    screen.state.loading = Some(1_000);
    let keys = [
        Key::Up,
        Key::Down,
        Key::Left,
        Key::Right,
        Key::PageUp,
        Key::PageDown,
        Key::First,
        Key::Last,
        Key::Enter,
        Key::Next,
        Key::Measure,
        Key::Back,
        Key::Help,
        Key::Help,
    ];
    let begun = Instant::now();
    for key in keys {
        screen.state.press(key);
        screen.draw();
    }
    assert!(begun.elapsed() < Duration::from_secs(2));
    assert!(screen.text().contains("reading the journal"));
    assert_eq!(screen.state.press(Key::Leave), Pressed::Leave);
}
