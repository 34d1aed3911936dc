//! Keys: arrows and those of vim.

use ratatui::crossterm::event::{
    KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};

use super::state::{Pane, ViewState};

/// A key with a meaning here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// One up.
    Up,
    /// One down.
    Down,
    /// Out, or to the left.
    Left,
    /// In, or to the right.
    Right,
    /// A page up.
    PageUp,
    /// A page down.
    PageDown,
    /// To the first.
    First,
    /// To the last.
    Last,
    /// Show or open.
    Enter,
    /// Back.
    Back,
    /// The next pane.
    Next,
    /// A pane.
    Pane(Pane),
    /// The next measure of the flame graph.
    Measure,
    /// Help.
    Help,
    /// Leave.
    Leave,
    /// Any other key: it closes the help.
    Other,
}

/// Outcome of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pressed {
    /// The view stays open.
    Stay,
    /// The user leaves.
    Leave,
}

impl Key {
    /// Returns the meaning of a key.
    pub fn of(key: &KeyEvent) -> Self {
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return match key.code {
                KeyCode::Char('c' | 'q') => Self::Leave,
                KeyCode::Char('d' | 'f') => Self::PageDown,
                KeyCode::Char('u' | 'b') => Self::PageUp,
                _ => Self::Other,
            };
        }
        match key.code {
            KeyCode::Up | KeyCode::Char('k') => Self::Up,
            KeyCode::Down | KeyCode::Char('j') => Self::Down,
            KeyCode::Left | KeyCode::Char('h') => Self::Left,
            KeyCode::Right | KeyCode::Char('l') => Self::Right,
            KeyCode::PageUp => Self::PageUp,
            KeyCode::PageDown | KeyCode::Char(' ') => Self::PageDown,
            KeyCode::Home | KeyCode::Char('g') => Self::First,
            KeyCode::End | KeyCode::Char('G') => Self::Last,
            KeyCode::Enter => Self::Enter,
            KeyCode::Esc | KeyCode::Backspace => Self::Back,
            KeyCode::Tab => Self::Next,
            KeyCode::Char('1') => Self::Pane(Pane::Tree),
            KeyCode::Char('2') => Self::Pane(Pane::Detail),
            KeyCode::Char('3') => Self::Pane(Pane::Context),
            KeyCode::Char('4') => Self::Pane(Pane::Flame),
            KeyCode::Char('m') => Self::Measure,
            KeyCode::Char('?') => Self::Help,
            KeyCode::Char('q') => Self::Leave,
            _ => Self::Other,
        }
    }
}

impl ViewState {
    /// Does what a key asks for.
    pub fn press(&mut self, key: Key) -> Pressed {
        if self.is_help {
            self.is_help = false;
            return if key == Key::Leave {
                Pressed::Leave
            } else {
                Pressed::Stay
            };
        }
        match key {
            Key::Leave => return Pressed::Leave,
            Key::Help => self.is_help = true,
            Key::Next => self.turn_to(self.pane.next()),
            Key::Pane(pane) => self.turn_to(pane),
            Key::Back => self.turn_to(Pane::Tree),
            Key::Measure => self.next_measure(),
            Key::Up => self.step(-1),
            Key::Down => self.step(1),
            Key::PageUp => self.step(-i64::from(self.height.max(2)) + 1),
            Key::PageDown => self.step(i64::from(self.height.max(2)) - 1),
            Key::First => self.step(i64::MIN / 2),
            Key::Last => self.step(i64::MAX / 2),
            Key::Left => self.inward(false),
            Key::Right => self.inward(true),
            Key::Enter => self.enter(),
            Key::Other => {}
        }
        Pressed::Stay
    }

    /// Does what a click asks for.
    pub(super) fn click(&mut self, mouse: &MouseEvent) {
        match mouse.kind {
            MouseEventKind::ScrollDown => self.step(3),
            MouseEventKind::ScrollUp => self.step(-3),
            MouseEventKind::Down(MouseButton::Left) if self.pane == Pane::Tree => {
                let row = usize::from(mouse.row.saturating_sub(1)) + self.offset;
                if row == self.selected {
                    self.enter();
                }
                self.select(row);
            }
            _ => {}
        }
    }
}
