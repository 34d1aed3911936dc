//! The to-do list of Claude Code: `TodoWrite` writes it whole, `TaskCreate` and `TaskUpdate` one task
//! at a time.

use flamestack_core::transcript::{Todo, TodoStatus};
use serde_json::Value;

use crate::recordings::json::{some, text};
use crate::recordings::tools;

/// The list, as built from the calls so far.
#[derive(Default)]
pub(super) struct TaskList {
    tasks: Vec<(String, Todo)>,
}

impl TaskList {
    /// Applies an answered call. Returns the whole list if the call was about it.
    pub(super) fn update(
        &mut self,
        tool: &str,
        input: &Value,
        answer: &TaskAnswer<'_>,
    ) -> Option<Vec<Todo>> {
        match tool {
            "TodoWrite" => return tools::todos(input),
            "TaskCreate" => {
                let id = answer
                    .task_id()
                    .unwrap_or_else(|| (self.tasks.len() + 1).to_string());
                let todo = Todo {
                    text: text(input, "subject").to_owned(),
                    status: TodoStatus::Pending,
                };
                self.tasks.push((id, todo));
            }
            "TaskUpdate" => {
                let id = some(input, "taskId")?;
                let (_, task) = self.tasks.iter_mut().find(|(known, _)| *known == id)?;
                if let Some(subject) = some(input, "subject") {
                    task.text = subject;
                }
                if let Some(status) = some(input, "status") {
                    task.status = tools::todo_status(&status);
                }
            }
            _ => return None,
        }
        Some(self.tasks.iter().map(|(_, todo)| todo.clone()).collect())
    }
}

/// The answer of one of the list's tools.
pub(super) struct TaskAnswer<'a> {
    pub(super) result: Option<&'a Value>,
    pub(super) text: &'a str,
}

impl TaskAnswer<'_> {
    /// Returns the id of a new task, as in `Task #3 created …`.
    fn task_id(&self) -> Option<String> {
        let task = self.result.and_then(|result| result.get("task"));
        if let Some(id) = task.and_then(|task| some(task, "id")) {
            return Some(id);
        }
        let (_, rest) = self.text.split_once('#')?;
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        (!digits.is_empty()).then_some(digits)
    }
}
