//! Identifiers that every program has. They tell nothing about this one.

/// Sorted, so that looking one up is a binary search.
const COMMON: [&str; 88] = [
    "AskUserQuestion",
    "ExitPlanMode",
    "GitHub",
    "GitLab",
    "JavaScript",
    "MultiEdit",
    "NotebookEdit",
    "OpenAI",
    "TaskCreate",
    "TaskList",
    "TaskOutput",
    "TaskUpdate",
    "TextEncoder",
    "TodoWrite",
    "ToolSearch",
    "TypeScript",
    "Uint8Array",
    "WebFetch",
    "WebSearch",
    "activeForm",
    "addEventListener",
    "apiKey",
    "api_key",
    "apply_patch",
    "call_id",
    "camelCase",
    "cell_id",
    "child_process",
    "className",
    "clearTimeout",
    "close_agent",
    "commitSha",
    "completedAt",
    "completed_at",
    "content_type",
    "createdAt",
    "created_at",
    "devDependencies",
    "duration_ms",
    "endLine",
    "error_message",
    "exec_command",
    "existsSync",
    "exitCode",
    "exit_code",
    "fileName",
    "filePath",
    "file_path",
    "forEach",
    "getElementById",
    "getTime",
    "head_limit",
    "in_progress",
    "isArray",
    "maxRetries",
    "max_output_tokens",
    "max_tokens",
    "newString",
    "new_string",
    "node_modules",
    "oldString",
    "old_string",
    "onClick",
    "output_mode",
    "readFileSync",
    "read_file",
    "replaceAll",
    "replace_all",
    "run_in_background",
    "sandbox_permissions",
    "session_id",
    "setTimeout",
    "snake_case",
    "spawn_agent",
    "startLine",
    "startTime",
    "startsWith",
    "subagent_type",
    "taskId",
    "timeout_ms",
    "toLowerCase",
    "toString",
    "tool_use_id",
    "update_plan",
    "useState",
    "view_image",
    "write_stdin",
    "yield_time_ms",
];

/// For every pair of length and last letter (modulo 32 and 8) whether a name of the table has
/// it. Almost no other name does, and comparing letters is what looking one up costs.
const LIKELY: [u8; 32] = {
    let mut likely = [0u8; 32];
    let mut at = 0;
    while at < COMMON.len() {
        #[expect(clippy::indexing_slicing, reason = "`at` counts up to the length")]
        let word = COMMON[at].as_bytes();
        let (length, letter) = place(word);
        #[expect(clippy::indexing_slicing, reason = "a length modulo 32")]
        {
            likely[length] |= letter;
        }
        at += 1;
    }
    likely
};

const fn place(word: &[u8]) -> (usize, u8) {
    let letter = match word.last() {
        Some(last) => *last,
        None => 0,
    };
    (word.len() % 32, 1 << (letter % 8))
}

/// Whether a name is one of those.
pub(super) fn is_common(word: &str) -> bool {
    let (length, letter) = place(word.as_bytes());
    LIKELY
        .get(length)
        .is_some_and(|likely| likely & letter != 0)
        && COMMON.binary_search(&word).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted() {
        assert!(COMMON.is_sorted());
        assert!(COMMON.iter().all(|word| is_common(word)) && !is_common("parse_token"));
    }
}
