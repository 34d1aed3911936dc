//! What the schemas promise is what the handlers take, in words that every host understands.

use std::collections::BTreeSet;
use std::time::Duration;

use flamestack_core::SessionRef;
use flamestack_core::command::Actor;
use serde_json::{Map, Value, json};

use super::{ALL, Profile, call, named};
use crate::clock::StoryClock;
use crate::error::EngineError;
use crate::{Engine, Home, Project};

/// An engine with one frame in progress, for as long as its folder lives.
fn ground() -> (tempfile::TempDir, Engine, Actor) {
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
    };
    let goal = json!({ "title": "Root", "successCriteria": "done" });
    call(&engine, &actor, "stack_frame_push", goal).unwrap();
    (dir, engine, actor)
}

/// Every schema inside a schema, itself included.
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

/// A value that a schema describes, with every property there is.
fn example(schema: &Value) -> Value {
    match schema["type"].as_str().unwrap() {
        "string" => schema["enum"][0].as_str().unwrap_or("some text").into(),
        "boolean" => true.into(),
        "number" => 7.into(),
        // Where a shape repeats itself, the schema ends; so does the example.
        "array" if schema["items"].get("properties").is_none() => json!([]),
        "array" => json!([example(&schema["items"])]),
        "object" => {
            let properties = schema["properties"].as_object().into_iter().flatten();
            let filled = properties.map(|(name, inner)| (name.clone(), example(inner)));
            Value::Object(filled.collect::<Map<_, _>>())
        }
        other => panic!("no example of {other}"),
    }
}

/// The names that an error says would have been taken.
fn expected(problem: &str) -> BTreeSet<String> {
    let (_, names) = problem.split_once("expected ").unwrap_or_default();
    let quoted = names.split('`').skip(1).step_by(2);
    quoted.map(str::to_owned).collect()
}

/// The properties of the object schema at a place.
fn properties(schema: &Value) -> BTreeSet<String> {
    let properties = schema["properties"].as_object().into_iter().flatten();
    properties.map(|(name, _)| name.clone()).collect()
}

#[test]
fn schemas_use_only_words_that_every_host_understands() {
    let words = [
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
            for word in part.as_object().unwrap().keys() {
                assert!(
                    words.contains(&word.as_str()),
                    "{}: `{word}` in {part}",
                    tool.name
                );
            }
            for name in part["required"].as_array().into_iter().flatten() {
                assert!(
                    properties(part).contains(name.as_str().unwrap()),
                    "{}: {name} is required but not described",
                    tool.name
                );
            }
        }
    }
}

#[test]
fn handlers_take_what_the_schemas_say_and_nothing_else() {
    let (_dir, engine, actor) = ground();
    for tool in ALL {
        let schema = (tool.schema)();
        let mut arguments = example(&schema);
        if let Err(EngineError::BadArguments { problem, .. }) =
            call(&engine, &actor, tool.name, arguments.clone())
        {
            panic!("{} refuses what its schema describes: {problem}", tool.name);
        }
        arguments["surprise"] = json!(1);
        match call(&engine, &actor, tool.name, arguments) {
            Err(EngineError::BadArguments { problem, .. }) => {
                assert!(problem.contains("surprise"), "{}: {problem}", tool.name);
                assert_eq!(expected(&problem), properties(&schema), "{}", tool.name);
            }
            other => panic!("{} takes a surprise: {other:?}", tool.name),
        }
    }
}

#[test]
fn children_of_a_plan_take_what_their_schema_says() {
    let (_dir, engine, actor) = ground();
    let tool = named("stack_frame_plan_children").unwrap();
    let child = (tool.schema)()["properties"]["children"]["items"].clone();
    let mut arguments = example(&(tool.schema)());
    arguments["children"][0]["surprise"] = json!(1);
    match call(&engine, &actor, tool.name, arguments) {
        Err(EngineError::BadArguments { problem, .. }) => {
            assert!(problem.contains("children[0]"), "{problem}");
            assert_eq!(expected(&problem), properties(&child));
        }
        other => panic!("a child takes a surprise: {other:?}"),
    }
}

#[test]
fn what_is_required_is_missed_when_it_is_not_there() {
    let (_dir, engine, actor) = ground();
    for tool in ALL {
        let schema = (tool.schema)();
        for name in schema["required"].as_array().into_iter().flatten() {
            let name = name.as_str().unwrap();
            let mut arguments = example(&schema);
            arguments.as_object_mut().unwrap().remove(name);
            match call(&engine, &actor, tool.name, arguments) {
                Err(EngineError::BadArguments { problem, .. }) => {
                    assert!(problem.contains(name), "{}: {problem}", tool.name);
                }
                other => panic!("{} does without {name}: {other:?}", tool.name),
            }
        }
    }
}

#[test]
fn an_optional_argument_may_be_null() {
    let (_dir, engine, actor) = ground();
    for tool in ALL {
        let schema = (tool.schema)();
        let required: Vec<&Value> = schema["required"]
            .as_array()
            .into_iter()
            .flatten()
            .collect();
        let mut arguments = example(&schema);
        for name in properties(&schema) {
            if !required.contains(&&json!(name)) {
                arguments[&name] = Value::Null;
            }
        }
        if let Err(EngineError::BadArguments { problem, .. }) =
            call(&engine, &actor, tool.name, arguments)
        {
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
