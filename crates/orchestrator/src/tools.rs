//! The tools of a driven session, as a small MCP server on standard input and output.
//!
//! A tool only acknowledges: the driver reads the calls from the host's stored messages, where they
//! cannot be spoofed by tool output. So the server keeps no state and knows no frames.

use std::io::{BufRead, Write};

use serde_json::{Value, json};

/// Protocol version that is answered if the client names none.
const VERSION: &str = "2025-06-18";

/// Serves the tools until the input ends.
pub fn serve(input: impl BufRead, mut output: impl Write) -> std::io::Result<()> {
    for line in input.lines() {
        let Ok(request) = serde_json::from_str::<Value>(&line?) else {
            continue;
        };
        let Some(id) = request.get("id").cloned() else {
            // A notification wants no answer.
            continue;
        };
        let answer = match answer(&request) {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err((code, message)) => json!({"jsonrpc": "2.0", "id": id,
                "error": {"code": code, "message": message}}),
        };
        writeln!(output, "{answer}")?;
        output.flush()?;
    }
    Ok(())
}

fn answer(request: &Value) -> Result<Value, (i32, &'static str)> {
    let method = request.get("method").and_then(Value::as_str);
    let params = request.get("params");
    match method.unwrap_or_default() {
        "initialize" => {
            let version = params.and_then(|params| params.get("protocolVersion"));
            Ok(json!({
                "protocolVersion": version.cloned().unwrap_or_else(|| json!(VERSION)),
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "flamestack", "version": env!("CARGO_PKG_VERSION")},
            }))
        }
        "ping" => Ok(json!({})),
        "tools/list" => Ok(json!({"tools": declarations()})),
        "tools/call" => {
            let name = params.and_then(|params| params.get("name"));
            let name = name.and_then(Value::as_str).unwrap_or_default();
            let text = acknowledgement(name).ok_or((-32602, "unknown tool"))?;
            Ok(json!({"content": [{"type": "text", "text": text}]}))
        }
        _ => Err((-32601, "unknown method")),
    }
}

/// Returns the answer of a tool.
fn acknowledgement(name: &str) -> Option<&'static str> {
    Some(match name {
        "frame_push" | "frame_plan_children" => {
            "Noted. End your turn now: the frames get sessions of their own, and you continue with their results."
        }
        "frame_pop" => "Noted. End your turn now.",
        "frame_activate" => "Noted. End your turn now: you continue when the frame has ended.",
        "frame_invalidate" => "Noted.",
        _ => return None,
    })
}

/// Declares the tools. The host shows them as `stack_frame_push` and so on.
fn declarations() -> Value {
    let text = |about: &str| json!({"type": "string", "description": about});
    let goal = json!({
        "title": text("Short name of the work"),
        "successCriteria": text("What defines done"),
    });
    let tool = |name: &str, about: &str, properties: Value, required: &[&str]| {
        json!({"name": name, "description": about, "inputSchema": {
            "type": "object", "properties": properties, "required": required,
        }})
    };
    json!([
        tool(
            "frame_push",
            "Open a frame below yours, with a session of its own. Several may be opened in one turn.",
            goal.clone(),
            &["title"],
        ),
        tool(
            "frame_plan_children",
            "Open several frames below yours, in order.",
            json!({"children": {"type": "array", "items": {
                "type": "object", "properties": goal, "required": ["title"],
            }}}),
            &["children"],
        ),
        tool(
            "frame_pop",
            "End your frame.",
            json!({
                "status": {"type": "string", "enum": ["completed", "failed", "blocked"]},
                "results": text("What was done or learned, or what the frame waits for: all that the parent sees"),
            }),
            &["status", "results"],
        ),
        tool(
            "frame_activate",
            "Start a planned or blocked frame below yours.",
            json!({"frameID": text("Its id or title")}),
            &["frameID"],
        ),
        tool(
            "frame_invalidate",
            "Give up a frame below yours that is no longer needed.",
            json!({"frameID": text("Its id or title"), "reason": text("Why")}),
            &["frameID", "reason"],
        ),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_can_initialise_list_and_call() {
        let lines = [
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26"}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            "not json",
            r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#,
            r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"frame_pop","arguments":{}}}"#,
            r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"nope"}}"#,
        ];
        let mut out = Vec::new();
        serve(lines.join("\n").as_bytes(), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let answers: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(answers.len(), 4);
        assert_eq!(answers[0]["result"]["protocolVersion"], "2025-03-26");
        assert_eq!(answers[1]["result"]["tools"].as_array().unwrap().len(), 5);
        let said = answers[2]["result"]["content"][0]["text"].as_str().unwrap();
        assert!(said.starts_with("Noted"));
        assert_eq!(answers[3]["error"]["code"], -32602);
    }
}
