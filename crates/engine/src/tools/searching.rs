//! Tools that find what is no longer in sight.

use serde::Deserialize;
use serde_json::json;

use super::{Tool, parse};
use crate::error::EngineError;
use crate::views::one_line;

/// How many finds are listed unless another number is asked for.
const FINDS: usize = 10;
/// The most that can be asked for.
const MOST_FINDS: usize = 50;

pub(super) const SEARCH: Tool = Tool {
    name: "stack_search",
    description: "Search titles, criteria, results, notes and logs of all frames. A text is found \
                  when it holds all words.",
    schema: || {
        json!({
            "type": "object",
            "properties": {
                "query": { "type": "string", "description": "Words to look for" },
                "limit": { "type": "number", "description": "At most so many finds" }
            },
            "required": ["query"]
        })
    },
    run: |engine, _, arguments| {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Arguments {
            query: String,
            limit: Option<u64>,
        }
        let Arguments { query, limit } = parse(SEARCH.name, arguments)?;
        if query.trim().is_empty() {
            return Err(EngineError::BadArguments {
                tool: SEARCH.name.to_owned(),
                problem: "at `query`: there is no word to look for".to_owned(),
            });
        }
        let limit = limit.map_or(FINDS, |limit| usize::try_from(limit).unwrap_or(MOST_FINDS));
        let limit = limit.clamp(1, MOST_FINDS);
        let found = engine.search(&query, limit, &mut |_, _| {})?;
        let mut lines = Vec::new();
        for (hit, title) in found.searched.hits.iter().zip(&found.titles) {
            lines.push(format!(
                "{}  {}  ({})",
                hit.frame,
                one_line(title, 72),
                hit.field
            ));
            if hit.field != "title" {
                lines.push(format!("    {}", one_line(&hit.excerpt, 160)));
            }
        }
        match (lines.is_empty(), found.searched.more) {
            (true, _) => lines.push("Nothing found.".to_owned()),
            (false, true) => lines.push("There is more: ask with a higher limit.".to_owned()),
            (false, false) => {}
        }
        Ok(lines.join("\n"))
    },
};
