//! The host's todo list. Cancelled items are never shown.

use flamestack_core::transcript::TodoStatus;

use super::SHOWN;
use crate::draft::{Draft, Rank};
use crate::facts::{Facts, is_open};
use crate::{Heading, LineSource};

pub(super) fn write(draft: &mut Draft, facts: &Facts<'_>) {
    let todos = || (1..).zip(&facts.sources.todos);
    let with = |status| todos().filter(move |(_, todo)| todo.status == status);
    for (place, todo) in with(TodoStatus::Active) {
        draft.vital(Heading::CurrentStep, &todo.text, LineSource::Todo(place));
    }
    let line = |(place, todo): (usize, &'_ flamestack_core::transcript::Todo)| {
        (todo.text.clone(), LineSource::Todo(place))
    };
    let open = todos().filter(|(_, todo)| is_open(todo)).map(line);
    draft.add_first((Heading::Remaining, Rank::Useful), SHOWN, open);
    let done = with(TodoStatus::Done).map(line);
    draft.add_last((Heading::Completed, Rank::Extra), SHOWN, done);
    let mut next = with(TodoStatus::Active).chain(with(TodoStatus::Pending));
    if draft.is_empty(Heading::NextAction)
        && let Some((place, todo)) = next.next()
    {
        draft.vital(Heading::NextAction, &todo.text, LineSource::Todo(place));
    }
}
