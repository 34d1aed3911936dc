//! Tool calls of agent programs: kinds, paths, commands, exit codes and to-do lists.

use std::path::Path;

use flamestack_core::transcript::{Call, CallKind, Todo, TodoStatus};
use serde_json::Value;

use super::json::{items, text};

/// Kinds of tools and the lower-case names that hosts give them, separated by spaces.
const KINDS: [(CallKind, &str); 10] = [
    (
        CallKind::Read,
        "read read_file read_many_files view view_image notebookread list ls \
         list_dir list_directory",
    ),
    (
        CallKind::Search,
        "grep glob search_file_content grep_search codesearch grep_files",
    ),
    (
        CallKind::Edit,
        "edit multiedit notebookedit apply_patch patch replace",
    ),
    (CallKind::Write, "write write_file create_file"),
    (
        CallKind::Execute,
        "bash shell exec_command run_shell_command local_shell local_shell_call \
         exec write_stdin wait container.exec",
    ),
    (
        CallKind::Delegate,
        "task agent spawn_agent subagent delegate_to_agent",
    ),
    (
        CallKind::Todo,
        "todowrite todoread taskcreate taskupdate tasklist taskget update_plan \
         write_todos",
    ),
    (
        CallKind::Web,
        "webfetch websearch web_fetch google_web_search web_search",
    ),
    (
        CallKind::Ask,
        "askuserquestion question ask_user request_user_input",
    ),
    (
        CallKind::Plan,
        "exitplanmode enterplanmode plan_exit plan_enter",
    ),
];

/// Returns the kind of a tool.
pub fn kind(tool: &str) -> CallKind {
    let name = tool.to_ascii_lowercase();
    if name.starts_with("stack_") || name.contains("__stack_") || name.contains("_stack_frame_") {
        return CallKind::Stack;
    }
    let mut kinds = KINDS.iter();
    let row = kinds.find(|(_, names)| names.split(' ').any(|known| known == name));
    row.map_or(CallKind::Other, |(kind, _)| *kind)
}

/// Describes a call. `arguments` is the text of `input` as the model wrote it.
pub fn call(id: &str, tool: &str, input: &Value, arguments: String, directory: &str) -> Call {
    let mut kind = kind(tool);
    let mut paths = paths(input);
    let patched = patched_files(&arguments);
    if !patched.is_empty() && matches!(kind, CallKind::Edit | CallKind::Execute) {
        kind = CallKind::Edit;
        paths = patched;
    }
    let command = (kind == CallKind::Execute)
        .then(|| command(input))
        .flatten();
    Call {
        id: id.to_owned(),
        tool: tool.to_owned(),
        kind,
        arguments,
        paths: paths.iter().map(|path| inside(path, directory)).collect(),
        command,
    }
}

fn paths(input: &Value) -> Vec<String> {
    let names = [
        "file_path",
        "filePath",
        "notebook_path",
        "absolute_path",
        "path",
        "file",
    ];
    let mut paths: Vec<String> = Vec::new();
    for path in names.iter().map(|name| text(input, name)) {
        if !path.is_empty() && !paths.iter().any(|known| known == path) {
            paths.push(path.to_owned());
        }
    }
    paths
}

fn command(input: &Value) -> Option<String> {
    let arguments = ["command", "cmd", "script"].iter();
    arguments
        .filter_map(|name| input.get(*name))
        .find_map(command_line)
}

fn command_line(argument: &Value) -> Option<String> {
    match argument {
        Value::String(line) if !line.is_empty() => Some(line.clone()),
        Value::Array(words) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            match words.as_slice() {
                // A shell and its script: `["bash", "-lc", "ls"]`.
                [_, flag, line] if flag.starts_with('-') && flag.contains('c') => {
                    Some((*line).to_owned())
                }
                // A program and its arguments.
                words => Some(words.join(" ")),
            }
        }
        _ => None,
    }
}

/// Returns the files of a patch in Codex's format that is part of a text, either verbatim or inside a
/// string literal, where line breaks are written as `\n`.
pub fn patched_files(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    if !text.contains("*** Begin Patch") {
        return found;
    }
    for mark in [
        "*** Add File: ",
        "*** Update File: ",
        "*** Delete File: ",
        "*** Move to: ",
    ] {
        for (at, _) in text.match_indices(mark) {
            let rest = text.get(at + mark.len()..).unwrap_or_default();
            let end = rest
                .find(['\n', '\r', '\\', '"', '`'])
                .unwrap_or(rest.len());
            let path = rest.get(..end).unwrap_or_default().trim();
            if !path.is_empty() && !found.iter().any(|known| known == path) {
                found.push(path.to_owned());
            }
        }
    }
    found
}

/// Makes a path relative to the directory that a session ran in, if it is inside of it.
pub fn inside(path: &str, directory: &str) -> String {
    let inside = (!directory.is_empty())
        .then(|| Path::new(path).strip_prefix(directory).ok())
        .flatten();
    match inside {
        Some(inside) if !inside.as_os_str().is_empty() => inside.to_string_lossy().into_owned(),
        _ => path.strip_prefix("./").unwrap_or(path).to_owned(),
    }
}

/// Prefix of the line with which Claude Code reports an exit code.
const CLAUDE_EXIT_CODE: &str = "Exit code ";

/// Returns the exit code that a host writes into the output of its shell tool.
pub(super) fn exit_code(text: &str, ok: bool) -> Option<i32> {
    let number = |rest: &str| {
        let digits: String = rest
            .trim_start()
            .chars()
            .take_while(|c| c.is_ascii_digit() || *c == '-')
            .collect();
        digits.parse().ok()
    };
    // Claude Code writes it into the first line, Codex into one of the first, and Gemini CLI into a
    // line after the output of the command.
    let head = text.get(..text.floor_char_boundary(4000)).unwrap_or(text);
    if let Some(rest) = head.strip_prefix(CLAUDE_EXIT_CODE) {
        return number(rest);
    }
    for mark in ["Process exited with code ", "Exit Code: ", "\"exit_code\":"] {
        if let Some((_, rest)) = head.split_once(mark) {
            return number(rest);
        }
    }
    let end = text.floor_char_boundary(text.len().saturating_sub(1000));
    let mut tail = text.get(end..).unwrap_or_default().lines().rev();
    if let Some(rest) = tail
        .clone()
        .find_map(|line| line.strip_prefix("Exit Code: "))
    {
        return number(rest);
    }
    // Some versions of Claude Code write it last. The last line of a successful command is output.
    let last = tail.find(|line| !line.trim().is_empty());
    if let Some(rest) = last
        .filter(|_| !ok)
        .and_then(|line| line.strip_prefix(CLAUDE_EXIT_CODE))
    {
        return number(rest);
    }
    let running = head.contains("Process running with session ID")
        || head.contains("Command running in background")
        || head.starts_with("Script running");
    (ok && !running).then_some(0)
}

/// Returns the items of a to-do list or plan.
pub(crate) fn todos(input: &Value) -> Option<Vec<Todo>> {
    let list = ["todos", "plan", "items"]
        .iter()
        .find(|name| input.get(*name).is_some_and(Value::is_array))?;
    let todos = items(input, list).iter().filter_map(|item| {
        let item_text = ["content", "step", "text", "description", "subject"]
            .iter()
            .map(|name| text(item, name))
            .find(|text| !text.is_empty())?;
        Some(Todo {
            text: item_text.to_owned(),
            status: todo_status(text(item, "status")),
        })
    });
    Some(todos.collect())
}

/// Parses the status of a to-do item of any host.
pub(crate) fn todo_status(status: &str) -> TodoStatus {
    match status {
        "in_progress" | "active" | "inProgress" => TodoStatus::Active,
        "completed" | "done" => TodoStatus::Done,
        "cancelled" | "canceled" | "deleted" => TodoStatus::Cancelled,
        _ => TodoStatus::Pending,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn files_of_a_patch_are_found_inside_other_text() {
        let patch = "*** Begin Patch\n*** Update File: src/a b.rs\n@@\n*** Add File: c.rs\n+x\n*** End Patch";
        assert_eq!(patched_files(patch), ["c.rs", "src/a b.rs"]);
        let inside_of_a_script = json!(format!("const p = {}; apply(p)", json!(patch))).to_string();
        assert!(patched_files(&inside_of_a_script).contains(&"c.rs".to_owned()));
        assert!(patched_files("*** Update File: x").is_empty());
    }

    #[test]
    fn commands_are_found_in_the_arguments_of_all_hosts() {
        let describe = |tool: &str, input: Value| {
            let call = call("1", tool, &input, input.to_string(), "/home/ada/shop");
            (call.kind, call.command, call.paths)
        };
        let ls = Some("ls -l".to_owned());
        let run = (CallKind::Execute, ls, vec![]);
        assert_eq!(describe("Bash", json!({"command": "ls -l"})), run);
        assert_eq!(
            describe("shell", json!({"command": ["bash", "-lc", "ls -l"]})),
            run
        );
        assert_eq!(describe("exec_command", json!({"cmd": "ls -l"})), run);
        let edit = describe("Edit", json!({"file_path": "/home/ada/shop/src/cart.rs"}));
        assert_eq!(edit, (CallKind::Edit, None, vec!["src/cart.rs".to_owned()]));
        let outside = describe("write", json!({"filePath": "/etc/hosts"}));
        assert_eq!(outside.2, ["/etc/hosts"]);
    }

    #[test]
    fn exit_codes_are_read_from_the_output_of_all_hosts() {
        assert_eq!(exit_code("Exit code 2\nerror", false), Some(2));
        assert_eq!(
            exit_code("Wall time: 1\nProcess exited with code 101\n", false),
            Some(101)
        );
        let long = "a line of output\n".repeat(1000);
        assert_eq!(
            exit_code(&format!("{long}Exit code 101\n"), false),
            Some(101)
        );
        assert_eq!(exit_code(&format!("{long}Exit code 101\n"), true), Some(0));
        assert_eq!(
            exit_code(&format!("{long}Exit Code: 3\nSignal: 9"), true),
            Some(3)
        );
        assert_eq!(exit_code("all fine", true), Some(0));
        assert_eq!(exit_code("no idea", false), None);
        assert_eq!(exit_code("Process running with session ID 5", true), None);
    }
}
