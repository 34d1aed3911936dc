//! A store, its export and its recordings as an earlier build wrote them, read by this one.
//!
//! `tests/fixtures/e67800f/README.md` says what is in them and how they were made.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::ground::TestProject;

/// A command that the earlier build ran on the store, and its standard output.
#[derive(Deserialize)]
struct Answer {
    args: Vec<String>,
    said: Value,
}

/// Files by their path within a folder.
type Files = BTreeMap<String, String>;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/e67800f")
        .join(name)
}

fn unpacked(path: &Path) -> Vec<u8> {
    zstd::decode_all(fs_err::File::open(path).unwrap()).unwrap()
}

fn read<T: DeserializeOwned>(name: &str) -> T {
    serde_json::from_slice(&unpacked(&fixture(name))).unwrap()
}

/// A project whose store is the one of the earlier build.
///
/// The name of a state directory is made from the project's path, so this build makes it and its
/// databases are replaced.
fn project() -> TestProject {
    let project = TestProject::new();
    project.push("Replaced");
    let state = project.state();
    for entry in fs_err::read_dir(&state).unwrap() {
        let path = entry.unwrap().path();
        if path.to_string_lossy().contains(".db") || path.ends_with("journal.mark") {
            fs_err::remove_file(path).unwrap();
        }
    }
    for entry in fs_err::read_dir(fixture("store")).unwrap() {
        let path = entry.unwrap().path();
        let database = state.join(path.file_stem().unwrap());
        fs_err::write(&database, unpacked(&path)).unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let private = std::fs::Permissions::from_mode(0o600);
            fs_err::set_permissions(database, private).unwrap();
        }
    }
    project
}

fn answer(project: &TestProject, args: &[String]) -> Value {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let state = project.state().display().to_string();
    let dir = project.dir().display().to_string();
    let text = project.ok(&args).replace(&state, "STATE");
    let text = text.replace(&dir, "DIR");
    if args.contains(&"--json") {
        serde_json::from_str(&text).unwrap()
    } else {
        Value::String(text)
    }
}

/// Asserts that every command answers as it did. Briefs are compared by everything but their prose,
/// which was reworded, and searches by the fields that were found: excerpts are cut out differently
/// now, and are in another order. Contexts, and some sections of briefs, show more of the work than
/// they did; tests beside the code check those.
fn assert_same_answers(project: &TestProject) {
    for Answer { args, mut said } in read::<Vec<Answer>>("answers.json.zst") {
        let mut answer = answer(project, &args);
        if args.first().is_some_and(|command| command == "context") {
            continue;
        }
        if args.first().is_some_and(|command| command == "brief") {
            for value in [&mut answer, &mut said] {
                without_prose(value);
            }
        }
        if args.first().is_some_and(|command| command == "search") {
            for value in [&mut answer, &mut said] {
                *value = found_fields(value);
            }
        }
        for value in [&mut answer, &mut said] {
            in_any_order(value);
        }
        without_news(&mut answer, &said);
        assert_eq!(answer, said, "flame {}", args.join(" "));
    }
}

/// Start of the author of a decision.
const DECIDED: &str = ", decided by the ";
/// Sections of a brief that show more than they did, or name the frame of the first prompt in place of
/// the session's, which has the same title.
const GROWN: [&str; 7] = [
    "Primary Objective",
    "Current Step",
    "Completed",
    "Remaining",
    "Decisions",
    "Blockers / Risks",
    "Next Action",
];

/// Removes the keys that answers did not have, and compares Markdown by its number of lines: its
/// words change.
fn without_news(answer: &mut Value, said: &Value) {
    match (answer, said) {
        (Value::Object(answer), Value::Object(said)) => {
            answer.retain(|key, _| said.contains_key(key));
            for (key, value) in answer {
                without_news(value, &said[key]);
            }
        }
        (Value::Array(answer), Value::Array(said)) => {
            for (answer, said) in answer.iter_mut().zip(said) {
                without_news(answer, said);
            }
        }
        (Value::String(answer), Value::String(said)) if answer.contains(DECIDED) => {
            // Decisions name their authors now.
            *answer = answer.replace(", decided by the user", "");
            *answer = answer.replace(", decided by the model", "");
            if is_log(said) {
                assert_eq!(answer.lines().count(), said.lines().count(), "{answer}");
                answer.clone_from(said);
            }
        }
        (Value::String(answer), Value::String(said)) if is_log(said) => {
            assert_eq!(answer.lines().count(), said.lines().count(), "{answer}");
            answer.clone_from(said);
        }
        _ => {}
    }
}

fn is_log(text: &str) -> bool {
    text.starts_with("# ") && text.contains("\n## ")
}

/// Sorts the lines of a tree: those of hidden frames have moved.
fn in_any_order(answer: &mut Value) {
    if let Some(lines) = answer.get_mut("lines").and_then(Value::as_array_mut) {
        lines.sort_by_key(ToString::to_string);
    }
}

/// Removes the sentences of a brief and keeps the sources of sections that have not grown.
fn without_prose(brief: &mut Value) {
    let Some(fields) = brief.as_object_mut() else {
        return;
    };
    fields.remove("text");
    fields.remove("tokens");
    let sections = fields["sections"].as_array_mut().unwrap();
    sections.retain(|section| !GROWN.iter().any(|heading| section["heading"] == *heading));
    for section in sections {
        for line in section["lines"].as_array_mut().unwrap() {
            line.as_object_mut().unwrap().remove("text");
        }
    }
}

/// Returns the frames and fields that a search found, sorted.
fn found_fields(search: &Value) -> Value {
    let hits = search["hits"].as_array().unwrap().iter();
    let mut found: Vec<(&str, &str)> = hits
        .map(|hit| {
            (
                hit["frame"].as_str().unwrap(),
                hit["field"].as_str().unwrap(),
            )
        })
        .collect();
    found.sort_unstable();
    json!(found)
}

fn files_in(folder: &Path) -> Files {
    let mut found = Files::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs_err::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_str().unwrap();
                found.insert(name.to_owned(), fs_err::read_to_string(&path).unwrap());
            }
        }
    }
    found
}

fn write_files(folder: &Path, files: &Files) {
    for (name, text) in files {
        let path = folder.join(name);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, text).unwrap();
    }
}

#[test]
fn a_store_gives_the_same_answers() {
    let project = project();
    project.well();
    let journal = project.journal();
    assert_same_answers(&project);
    assert_eq!(project.journal(), journal, "reading records nothing");
}

#[test]
fn a_rebuilt_store_gives_the_same_answers() {
    let project = project();
    project.ok(&["rebuild"]);
    project.well();
    assert_same_answers(&project);
}

#[test]
fn an_export_has_everything_that_it_had() {
    let project = project();
    let folder = project.dir().join("exported");
    project.ok(&["export", folder.to_str().unwrap()]);
    let written: Files = read("export.json.zst");
    let mut exported = files_in(&folder);
    // Dropped texts were not marked yet.
    exported.retain(|name, _| !name.ends_with(".dropped"));
    let names: Vec<&String> = exported.keys().collect();
    assert_eq!(names, written.keys().collect::<Vec<_>>());
    for (name, text) in written {
        if is_log(&text) {
            let lines = |text: &str| text.lines().count();
            assert_eq!(lines(&exported[&name]), lines(&text), "{name}");
        } else if let Ok(said) = serde_json::from_str::<Value>(&text) {
            let mut exported: Value = serde_json::from_str(&exported[&name]).unwrap();
            without_news(&mut exported, &said);
            assert_eq!(exported, said, "{name}");
        } else {
            assert_eq!(exported[&name], text, "{name}");
        }
    }
}

#[test]
fn an_export_is_imported_as_it_was() {
    let project = TestProject::new();
    let folder = project.dir().join("exported");
    write_files(&folder, &read("export.json.zst"));
    project.ok(&["import", folder.to_str().unwrap()]);
    let imported: Value = read("imported.json.zst");
    assert_eq!(project.json(&["tree", "--all"]), imported);
}

#[test]
fn recordings_are_recognised() {
    let project = project();
    let folder = project.dir().join("recordings");
    write_files(&folder, &read("recordings.json.zst"));
    let database = folder.join("opencode/opencode.db");
    fs_err::create_dir_all(database.parent().unwrap()).unwrap();
    fs_err::write(&database, unpacked(&fixture("opencode.db.zst"))).unwrap();
    let import = |host: &str| {
        let path = folder.join(host);
        let answer = project.json(&["import", "--all", path.to_str().unwrap()]);
        json!({
            "sessions": answer["sessions"], "bad": answer["bad"],
            "frames": answer["frames"], "events": answer["events"],
        })
    };
    let nothing_new = json!({ "sessions": 1, "bad": 0, "frames": 0, "events": 0 });
    let journal = project.journal();
    for host in ["claude", "codex", "ctrace", "gemini", "opencode"] {
        assert_eq!(import(host), nothing_new, "{host}");
    }
    assert_eq!(project.journal(), journal);
}

/// The earlier build knew no states: they are folded from what it recorded.
#[test]
fn its_sessions_gain_their_states() {
    let project = project();
    let listed = project.json(&["session", "list", "--all"]);
    let sessions = listed.as_array().unwrap();
    assert!(!sessions.is_empty());
    let shown = |name: &str| project.json(&["session", "show", name]);
    let histories = || -> Vec<Value> {
        let names = sessions.iter().map(|one| one["session"].as_str().unwrap());
        names
            .map(|name| shown(name)["stateHistory"].clone())
            .collect()
    };
    let before = histories();
    let states: Vec<&str> = before
        .iter()
        .flat_map(|history| history.as_array().unwrap())
        .map(|change| change["to"].as_str().unwrap())
        .collect();
    for state in ["beginning", "executing", "between_turn"] {
        assert!(states.contains(&state), "{state} is not among {states:?}");
    }
    project.ok(&["rebuild"]);
    assert_eq!(histories(), before);
}
