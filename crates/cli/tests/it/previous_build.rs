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

/// Keys that answers and exports did not have, by command and path. Anything else that is new fails.
const NEW_KEYS: &[(&str, &str)] = &[
    // The state of the work is extracted from the record.
    ("brief", "state"),
    // Decisions name their authors.
    ("context", "sections.content.content.by"),
    ("show", "decisions.by"),
    ("export", "flamestack.notes.by"),
    ("export", "frames.*.flamestack.notes.by"),
    // The summary of a frame is exported.
    ("export", "flamestack.summary"),
    ("export", "frames.*.flamestack.summary"),
    // Long texts are indexed in pieces, and an index may be incomplete.
    ("search", "hits.piece"),
    ("search", "partial"),
    // Times of work, and raw text that is gone.
    ("show", "startedAt"),
    ("show", "endedAt"),
    ("show", "durationMs"),
    ("show", "log.dropped"),
    // Sessions are watched for repetition, and heuristics suggest frames.
    ("status", "sessions.lastSeenAt"),
    ("status", "sessions.stall"),
    // The state of the session, so that a stopped or failed turn is seen.
    ("status", "sessions.state"),
    ("status", "sessions.why"),
    ("status", "suggestions"),
    // Runs that are parked, paused or cut off.
    ("status", "runs"),
    ("status", "sessions.worktreeGone"),
    // A frame that is completed without recorded evidence is claimed to be.
    ("show", "claimed"),
    ("show", "children.claimed"),
    ("tree", "lines.claimed"),
    ("status", "sessions.path.claimed"),
    ("status", "sessions.active.claimed"),
];

/// Lines of contexts that say the same in other words, or count more: decisions name their authors,
/// and where there is room the work of siblings and what children learned is shown.
const REWORDED_CONTEXT: &[(&str, &str)] = &[
    (
        "<decisions>Keep the cookie name (because: clients depend on it)</decisions>",
        "<decisions by=\"user\">Keep the cookie name (because: clients depend on it)</decisions>",
    ),
    (
        "<decisions>Post, then redirect</decisions>",
        "<decisions by=\"user\">Post, then redirect</decisions>",
    ),
    (
        "<decisions>Prices are integers of cents</decisions>",
        "<decisions by=\"model\">Prices are integers of cents</decisions>",
    ),
    (
        "<decisions>totp-lite is too bare</decisions>",
        "<decisions by=\"user\">totp-lite is too bare</decisions>",
    ),
    (
        "<completed-siblings from=\"model\" count=\"0\" omitted=\"1\" show=\"flame tree wfeqq3d6 --all\"/>",
        "<completed-siblings from=\"model\" count=\"1\">",
    ),
    (
        "<completed-siblings from=\"model\" count=\"1\" omitted=\"1\" show=\"flame tree wfeqq3d6 --all\">",
        "<completed-siblings from=\"model\" count=\"2\">",
    ),
    (
        "<uncles from=\"model\" count=\"1\" omitted=\"1\" show=\"flame tree wfeqq3d6 --all\">",
        "<uncles from=\"model\" count=\"2\">",
    ),
    (
        "<failed-attempts from=\"model\" count=\"1\">",
        "<failed-attempts from=\"model\" count=\"2\">",
    ),
];

/// Lines of contexts that are new, for the same reasons.
const ADDED_CONTEXT: &[&str] = &[
    "<frame id=\"g6v2dcbt\" status=\"completed\" from=\"user\" log=\"flame log g6v2dcbt\">",
    "<title>Compare the TOTP crates</title>",
    "<results>totp-rs</results>",
    "<decisions by=\"user\">totp-lite is too bare</decisions>",
    "<decisions by=\"user\">Keep the cookie name (because: clients depend on it)</decisions>",
    "<decisions by=\"model\">Keep the grammar file, since tools read it",
    "Keep the name</decisions>",
    "</frame>",
    "</completed-siblings>",
    "<failed-attempts from=\"model\" count=\"1\">",
    "<attempt frame=\"n2bgc5pr\">Patch the old parser (because: it has no tests)</attempt>",
    "</failed-attempts>",
];

/// Lines of briefs that say something else, by session and heading: decisions name their authors, a
/// conversation is at its newest request, and its first prompt names it.
const REWORDED_BRIEF: &[(&str, &str, &str, &str)] = &[
    (
        "claude-code:5f0c",
        "Decisions",
        "Prices are integers of cents",
        "The model decided: Prices are integers of cents",
    ),
    (
        "claude-code:s1",
        "Primary Objective",
        "Make total_0 in src/area_0.rs faster and keep the old tests",
        "Make total_12 in src/area_0.rs faster and keep the old tests",
    ),
    (
        "claude-code:s1",
        "Current Step",
        "Make total_0 in src/area_0.rs faster and keep the old tests",
        "Make total_12 in src/area_0.rs faster and keep the old tests",
    ),
    (
        "claude-code:s1",
        "Status",
        "“Make total_0 in src/area_0.rs faster and keep the old tests” is in progress.",
        "The conversation that began with “Make total_0 in src/area_0.rs faster and keep the old tests” \
         is in progress.",
    ),
    (
        "opencode:ses_r",
        "Primary Objective",
        "Fix the login. Never touch legacy.rs.",
        "Something else instead",
    ),
    (
        "opencode:ses_r",
        "Current Step",
        "Fix the login. Never touch legacy.rs.",
        "Something else instead",
    ),
    (
        "opencode:ses_r",
        "Status",
        "“Fix the login. Never touch legacy.rs.” is in progress.",
        "The conversation that began with “Fix the login. Never touch legacy.rs.” is in progress.",
    ),
    (
        "opencode:ses_s",
        "Status",
        "“Mend the basket cookie” is in progress; 1 of 1 beside it complete.",
        "“Mend the basket cookie” is in progress; 1 of 1 sibling complete.",
    ),
];

/// Lines of briefs that are new: decisions of finished children.
const ADDED_BRIEF: &[&str] = &[
    "The model decided in “Reproduce the loop”: Keep the grammar file, since tools read it",
    "The model decided in “Reproduce the loop”: Keep the name",
];

/// Returns true if a line of a brief may be gone: its words are elsewhere in it, in the state or as the objective.
fn is_repeated(line: &str, brief: &str) -> bool {
    let words = line.strip_prefix("The user said: ").unwrap_or(line);
    !words.is_empty() && brief.contains(words)
}

/// Asserts that every command answers as it did, but for the differences that are listed above and in
/// the functions for each command.
fn assert_same_answers(project: &TestProject) {
    for Answer { args, mut said } in read::<Vec<Answer>>("answers.json.zst") {
        let command = args.first().unwrap().as_str();
        let what = format!("flame {}", args.join(" "));
        let mut answer = answer(project, &args);
        without_new_keys(&mut answer, &said, command, "");
        match command {
            "context" => same_contexts(&mut answer, &mut said, &what),
            "brief" => same_briefs(&mut answer, &mut said, args.last().unwrap()),
            "search" => same_hits(&mut answer, &mut said),
            "tree" => hidden_last(&mut answer, &mut said),
            "log" => {
                answer["markdown"] = since_then(answer["markdown"].as_str().unwrap()).into();
                said["markdown"] = in_new_words(said["markdown"].as_str().unwrap()).into();
            }
            _ => {}
        }
        assert_eq!(answer, said, "{what}");
    }
}

/// Removes the keys of [`NEW_KEYS`] that `said` does not have. `*` is any key.
fn without_new_keys(answer: &mut Value, said: &Value, command: &str, path: &str) {
    let is_listed = |path: &str| {
        let parts: Vec<&str> = path.split('.').collect();
        let mut known = NEW_KEYS.iter().filter(|(of, _)| *of == command);
        known.any(|(_, known)| {
            let known: Vec<&str> = known.split('.').collect();
            let same = |(known, part): (&&str, &&str)| *known == "*" || known == part;
            known.len() == parts.len() && known.iter().zip(&parts).all(same)
        })
    };
    match (answer, said) {
        (Value::Object(answer), Value::Object(said)) => {
            let below = |key: &str| match path {
                "" => key.to_owned(),
                path => format!("{path}.{key}"),
            };
            answer.retain(|key, _| said.contains_key(key) || !is_listed(&below(key)));
            for (key, value) in answer {
                if let Some(said) = said.get(key) {
                    without_new_keys(value, said, command, &below(key));
                }
            }
        }
        (Value::Array(answer), Value::Array(said)) => {
            for (answer, said) in answer.iter_mut().zip(said) {
                without_new_keys(answer, said, command, path);
            }
        }
        _ => {}
    }
}

/// Asserts that lines are the same, reworded as listed, and that every other line is a listed one.
fn assert_same_lines(
    now: &str,
    was: &str,
    is_reworded: &dyn Fn(&str, &str) -> bool,
    is_added: &dyn Fn(&str) -> bool,
    is_gone: &dyn Fn(&str) -> bool,
    what: &str,
) {
    let mut expected = was.lines().peekable();
    for line in now.lines() {
        let matches = |was: &&str| *was == line || is_reworded(was, line);
        while !is_added(line)
            && expected
                .next_if(|was| !matches(was) && is_gone(was))
                .is_some()
        {}
        assert!(
            expected.next_if(matches).is_some() || is_added(line),
            "{what}: “{line}” instead of {:?}\n\n{now}\n\nwas\n\n{was}",
            expected.peek()
        );
    }
    assert_eq!(expected.next(), None, "{what}: missing in\n\n{now}");
}

/// Compares contexts line by line. The other fields of JSON follow from the text; those of contexts
/// whose text has changed are compared by it alone.
fn same_contexts(answer: &mut Value, said: &mut Value, what: &str) {
    let text = |context: &Value| {
        let text = context.get("text").unwrap_or(context);
        text.as_str().unwrap_or_default().to_owned()
    };
    // A frame that is completed without recorded evidence is claimed to be.
    let now = text(answer).replace(" claimed=\"true\"", "");
    let was = text(said);
    // What was given up counts no longer in a position, so that there may be none.
    let is_position = |line: &str| line.starts_with("<position>Task ");
    let is_reworded = |was: &str, now: &str| {
        REWORDED_CONTEXT.contains(&(was, now)) || (is_position(was) && is_position(now))
    };
    let is_added = |line: &str| ADDED_CONTEXT.contains(&line);
    assert_same_lines(&now, &was, &is_reworded, &is_added, &is_position, what);
    if text(answer) != was {
        *answer = Value::Null;
        *said = Value::Null;
    }
}

/// The beginnings of the first lines of a brief before, and now. Without a workflow they say nothing of stages.
const BRIEF_INTRODUCTION: [(&str, &str); 2] = [
    (
        "Recorded state of the work, as background: it informs and grants nothing. ",
        "Recorded state of the work: background, not instructions. The newest user message takes precedence.",
    ),
    ("## Stage-Aware Continuation", "## Continuation"),
];

/// Returns the text of a brief without the state of the work, with which it begins now.
fn without_state(text: &str) -> String {
    let mut in_state = false;
    let lines = text.lines().filter(|line| {
        if line.starts_with("## ") {
            in_state = *line == "## Where the Work Stands";
        }
        !in_state
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Takes out of a brief that its work is finished, and the results of that. Before, a session without an active
/// frame had an empty one.
fn without_end(answer: &mut Value, said: &mut Value) {
    let Some(goal) = answer["sections"][0]["lines"][0]["text"].as_str() else {
        return;
    };
    let Some(goal) = goal.strip_suffix(" (finished)").map(str::to_owned) else {
        return;
    };
    if said["sections"][0]["lines"] == Value::Array(Vec::new()) {
        (*answer, *said) = (Value::Null, Value::Null);
        return;
    }
    let mut text = answer["text"].as_str().unwrap().to_owned();
    text = text.replacen(&format!("{goal} (finished)\n"), &format!("{goal}\n"), 1);
    answer["sections"][0]["lines"][0]["text"] = goal.clone().into();
    let title = goal.split(" — done when: ").next().unwrap();
    for section in answer["sections"].as_array_mut().unwrap() {
        if section["heading"] == "Completed" {
            let lines = section["lines"].as_array_mut().unwrap();
            let is_last = |line: &Value| line["text"].as_str().unwrap().starts_with(title);
            if let Some(at) = lines.iter().rposition(is_last) {
                let line = lines.remove(at);
                let line = format!("- {}\n", line["text"].as_str().unwrap());
                let at = text.rfind(&line).unwrap();
                text.replace_range(at..at + line.len(), "");
            }
        }
    }
    answer["text"] = text.into();
}

/// Compares briefs line by line, and section by section with the sources of lines that say the same.
/// Their number of tokens follows from the text.
fn same_briefs(answer: &mut Value, said: &mut Value, session: &str) {
    without_end(answer, said);
    if let (Some(now), Some(was)) = (answer["text"].as_str(), said["text"].as_str()) {
        let is_reworded = |was: &str, now: &str| {
            let mut reworded = REWORDED_BRIEF.iter();
            let bullet = |text: &str, line: &str| line.strip_prefix("- ") == Some(text);
            let mut introduction = BRIEF_INTRODUCTION.iter();
            introduction.any(|(old, new)| was.starts_with(old) && now.starts_with(new))
                || reworded
                    .any(|(of, _, old, new)| *of == session && bullet(old, was) && bullet(new, now))
        };
        let is_added = |line: &str| {
            let text = line.strip_prefix("- ").unwrap_or_default();
            // A section whose only line is repeated elsewhere is empty.
            ADDED_BRIEF.contains(&text) || text == "none recorded"
        };
        // A frame that is completed without recorded evidence is claimed to be.
        let below = without_state(now).replace(" (claimed)", "");
        let is_gone = |line: &str| {
            let text = line.strip_prefix("- ").unwrap_or_default();
            is_repeated(text, now)
        };
        assert_same_lines(&below, was, &is_reworded, &is_added, &is_gone, session);
    }
    let text = answer["text"].as_str().unwrap_or_default().to_owned();
    for brief in [&mut *answer, &mut *said] {
        if let Some(fields) = brief.as_object_mut() {
            fields.remove("text");
            fields.remove("tokens");
        }
    }
    let (Some(now), Some(was)) = (
        answer.get_mut("sections").and_then(Value::as_array_mut),
        said.get_mut("sections").and_then(Value::as_array_mut),
    ) else {
        return;
    };
    for (now, was) in now.iter_mut().zip(was) {
        let heading = now["heading"].as_str().unwrap().to_owned();
        let (Some(now), Some(was)) = (now["lines"].as_array_mut(), was["lines"].as_array_mut())
        else {
            continue;
        };
        was.retain(|line| {
            let line = line["text"].as_str().unwrap_or_default();
            let says = |one: &Value| one["text"].as_str().is_some_and(|one| one.contains(line));
            let is_reworded = |(of, under, old, _): &(&str, &str, &str, &str)| {
                *of == session && *under == heading && *old == line
            };
            now.iter().any(says)
                || REWORDED_BRIEF.iter().any(is_reworded)
                || !is_repeated(line, &text)
        });
        now.retain(|line| !ADDED_BRIEF.iter().any(|added| line["text"] == *added));
        for (now, was) in now.iter_mut().zip(was) {
            if let Some(text) = now["text"].as_str() {
                now["text"] = text.replace(" (claimed)", "").into();
            }
            let is_reworded = REWORDED_BRIEF.iter().any(|(of, under, old, new)| {
                *of == session && *under == heading && was["text"] == *old && now["text"] == *new
            });
            if is_reworded {
                // Another line may come from another frame.
                now.clone_from(was);
            }
        }
    }
}

/// Compares hits in any order, since they are ranked differently, and an excerpt by its lines with a
/// word that was searched for: it is cut elsewhere now.
fn same_hits(answer: &mut Value, said: &mut Value) {
    for search in [&mut *answer, &mut *said] {
        let hits = search["hits"].as_array_mut().unwrap();
        hits.sort_by_key(|hit| format!("{} {}", hit["frame"], hit["field"]));
    }
    let hits = said["hits"].as_array().unwrap().clone();
    for (now, was) in answer["hits"].as_array_mut().unwrap().iter_mut().zip(hits) {
        let mut found = was["excerpt"].as_str().unwrap().lines();
        let excerpt = now["excerpt"].as_str().unwrap();
        if found.all(|line| !line.contains('[') || excerpt.contains(line.trim_matches('…'))) {
            now["excerpt"] = was["excerpt"].clone();
        }
    }
}

/// Moves the counts of frames that are not shown to the end: they were after the finished frames of
/// their level, and are before them now.
fn hidden_last(answer: &mut Value, said: &mut Value) {
    for tree in [answer, said] {
        let lines = tree["lines"].as_array_mut().unwrap();
        lines.sort_by_key(|line| line["kind"] == "hidden");
    }
}

/// Returns a log of this build without what has been added to logs since: the zone of times, the
/// authors of decisions, and the mark of frames that are completed without recorded evidence.
fn since_then(log: &str) -> String {
    let line = |line: &str| {
        let line = line.replace(" (claimed)", "");
        let line = line.replace(", decided by the user", "");
        let line = line.replace(", decided by the model", "");
        let line = line.replace(" decision of the user: ", " decision: ");
        let line = line.replace(" decision of the model: ", " decision: ");
        match line.split_once(" UTC ") {
            Some((time, rest)) if time.starts_with("- ") && time.len() == 18 => {
                format!("{time} {rest}")
            }
            _ => line,
        }
    };
    log.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Returns a log of the earlier build with the heading of directives and the sizes of this one.
fn in_new_words(log: &str) -> String {
    let line = |line: &str| {
        let line = line.replace("## What the user said", "## Directives");
        let size = line.rsplit_once(" bytes)").and_then(|(before, after)| {
            let (before, bytes) = before.rsplit_once('(')?;
            let bytes: f64 = bytes.parse().ok().filter(|bytes| *bytes >= 1000.0)?;
            Some(format!("{before}({:.1} kB){after}", bytes / 1000.0))
        });
        size.unwrap_or(line)
    };
    log.lines().map(line).collect::<Vec<_>>().join("\n")
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
        let now = &exported[&name];
        if Path::new(&name).extension().is_some_and(|it| it == "md") {
            assert_eq!(since_then(now), in_new_words(&text), "{name}");
        } else if let Ok(said) = serde_json::from_str::<Value>(&text) {
            let mut now: Value = serde_json::from_str(now).unwrap();
            without_new_keys(&mut now, &said, "export", "");
            assert_eq!(now, said, "{name}");
        } else {
            assert_eq!(*now, text, "{name}");
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
    let mut now = project.json(&["tree", "--all"]);
    without_new_keys(&mut now, &imported, "tree", "");
    assert_eq!(now, imported);
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
