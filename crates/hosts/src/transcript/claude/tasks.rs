//! The to-do list of Claude Code: written whole by one tool, or task by task by two others.

use flamestack_core::transcript::{Todo, TodoStatus};
use serde_json::Value;

use crate::transcript::json::{some, text};
use crate::transcript::tools;

/// The list as far as it is known.
#[derive(Default)]
pub(super) struct Tasks {
    tasks: Vec<(String, Todo)>,
}

impl Tasks {
    /// The whole list after a call was answered, if the call was about the list.
    pub(super) fn after(
        &mut self,
        tool: &str,
        input: &Value,
        answer: &Answered<'_>,
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
                if let Some(word) = some(input, "status") {
                    task.status = tools::status(&word);
                }
            }
            _ => return None,
        }
        Some(self.tasks.iter().map(|(_, todo)| todo.clone()).collect())
    }
}

/// What a tool of the list answered.
pub(super) struct Answered<'a> {
    pub(super) result: Option<&'a Value>,
    pub(super) text: &'a str,
}

impl Answered<'_> {
    /// The id of a task that was made: `Task #3 created …`.
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
