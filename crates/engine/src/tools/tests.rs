use std::time::Duration;

use flamestack_core::{Actor, Author, SessionRef};
use serde_json::{Value, json};

use super::{ALL, Profile, call, named};
use crate::clock::StoryClock;
use crate::error::EngineError;
use crate::{Engine, Home, Project};

/// Returns every schema inside a schema, including itself.
fn schemas(schema: &Value) -> Vec<&Value> {
    let mut found = vec![schema];
    let properties = schema["properties"].as_object().into_iter().flatten();
    let inside = properties
        .map(|(_, inner)| inner)
        .chain(schema.get("items"));
    for inner in inside {
        found.extend(schemas(inner));
    }
    found
}

#[test]
fn schemas_use_only_keywords_that_every_host_understands() {
    let keywords = [
        "type",
        "properties",
        "required",
        "items",
        "enum",
        "description",
    ];
    for tool in ALL {
        let schema = (tool.schema)();
        assert_eq!(schema["type"], "object", "{}", tool.name);
        for part in schemas(&schema) {
            assert!(part["type"].is_string(), "{}: a union in {part}", tool.name);
            for keyword in part.as_object().unwrap().keys() {
                assert!(
                    keywords.contains(&keyword.as_str()),
                    "{}: `{keyword}` in {part}",
                    tool.name
                );
            }
        }
    }
}

#[test]
fn a_schema_is_derived_with_names_descriptions_and_nesting() {
    insta::assert_snapshot!((named("stack_frame_plan_children").unwrap().schema)(), @r#"{"properties":{"children":{"items":{"properties":{"children":{"description":"Frames below it, of the same shape","items":{"type":"object"},"type":"array"},"successCriteria":{"type":"string"},"successCriteriaCompacted":{"type":"string"},"title":{"type":"string"}},"required":["title","successCriteria"],"type":"object"},"type":"array"},"parentSessionID":{"description":"Parent frame id, if not the active frame","type":"string"}},"required":["children"],"type":"object"}"#);
    insta::assert_snapshot!((named("stack_subagent_complete").unwrap().schema)(), @r#"{"properties":{"sessionID":{"description":"The subagent's session","type":"string"},"status":{"enum":["completed","failed","blocked"],"type":"string"},"summary":{"description":"Result of its work","type":"string"}},"type":"object"}"#);
    insta::assert_snapshot!((named("stack_status").unwrap().schema)(), @r#"{"properties":{},"type":"object"}"#);
}

#[test]
fn unknown_arguments_are_refused_and_optional_ones_may_be_null() {
    let dir = tempfile::tempdir().unwrap();
    let home = Home {
        state: dir.path().join("state"),
        config: dir.path().join("config"),
    };
    let project = Project::at(dir.path(), &home).unwrap();
    let clock = Box::new(StoryClock::starting_at(0));
    let engine = Engine::new(project, clock, Duration::from_secs(5));
    let actor = Actor {
        session: SessionRef::shell("main"),
        worktree: None,
        message: None,
        by: Author::Agent,
    };
    for tool in ALL {
        match call(&engine, &actor, tool.name, json!({ "surprise": 1 })) {
            Err(EngineError::BadArguments { problem, .. }) => {
                assert!(problem.contains("surprise"), "{}: {problem}", tool.name);
            }
            other => panic!("{} accepts a surprise: {other:?}", tool.name),
        }
        let schema = (tool.schema)();
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        let mut arguments = json!({});
        for (name, inner) in schema["properties"].as_object().unwrap() {
            arguments[name] = match inner["type"].as_str() {
                _ if !required.contains(&json!(name)) => Value::Null,
                Some("array") => json!([]),
                _ => inner["enum"].get(0).cloned().unwrap_or(json!("text")),
            };
        }
        let answer = call(&engine, &actor, tool.name, arguments);
        if let Err(EngineError::BadArguments { problem, .. }) = answer {
            panic!("{}: {problem}", tool.name);
        }
    }
}

#[test]
fn the_core_tools_fit_into_every_request() {
    let tokenizer = flamestack_tokens::by_name("o200k").unwrap();
    let schemas: Vec<Value> = Profile::Core
        .tools()
        .map(|tool| {
            json!({
                "name": tool.name,
                "description": tool.description,
                "parameters": (tool.schema)(),
            })
        })
        .collect();
    assert_eq!(schemas.len(), 8);
    let tokens = tokenizer.count(&Value::from(schemas).to_string());
    assert!(tokens <= 1200, "{tokens} tokens");
}
