//! Tests of the hints about errors.

use std::io::ErrorKind;

use super::*;

/// Declares one example of each variant of an error, in a match that the compiler keeps complete.
macro_rules! examples {
    ($function:ident -> $type:ty { $($pattern:pat => $example:expr,)+ }) => {
        fn $function() -> Vec<$type> {
            #[expect(dead_code, reason = "fails to compile if a variant has no example")]
            #[allow(clippy::unnested_or_patterns, reason = "the patterns are given one by one")]
            fn has_example(error: &$type) {
                match error { $($pattern)|+ => {} }
            }
            vec![$($example),+]
        }
    };
}

fn id() -> FrameId {
    "abcdefgh".parse().unwrap()
}

fn text() -> String {
    "x".to_owned()
}

fn damaged() -> StoreError {
    StoreError::Unreadable {
        path: PathBuf::new(),
        problem: text(),
    }
}

examples!(store_errors -> StoreError {
    StoreError::Unreadable { .. } => damaged(),
    StoreError::NotOurs(_) => StoreError::NotOurs(PathBuf::new()),
    StoreError::TooNew { .. } => StoreError::TooNew { found: 2, known: 1 },
    StoreError::BadEvent { .. } => StoreError::BadEvent { seq: 1, problem: text() },
    StoreError::PartOfEvent { .. } => StoreError::PartOfEvent { seq: 1, problem: text() },
    StoreError::BadBackup { .. } => StoreError::BadBackup { path: PathBuf::new(), problem: text() },
    StoreError::BadRow(_) => StoreError::BadRow(text()),
    StoreError::ReadOnly(_) => StoreError::ReadOnly(PathBuf::new()),
    StoreError::OtherStore { .. } => StoreError::OtherStore {
        path: PathBuf::new(),
        mark: PathBuf::new(),
    },
    StoreError::Replaced => StoreError::Replaced,
    StoreError::LostCommit => StoreError::LostCommit,
    StoreError::DiskFull => StoreError::DiskFull,
    StoreError::Busy => StoreError::Busy,
    StoreError::Sqlite(_) | StoreError::Io(_) => StoreError::Io(ErrorKind::NotFound.into()),
});

examples!(errors -> EngineError {
    EngineError::Refused(_) => EngineError::from(Refusal::EmptyPlan),
    EngineError::UnknownFrame { .. } => EngineError::UnknownFrame { name: text(), nearest: None },
    EngineError::AmbiguousFrame { .. } => EngineError::AmbiguousFrame {
        name: text(),
        candidates: Vec::new(),
    },
    EngineError::UnknownSession(_) => EngineError::UnknownSession(text()),
    EngineError::AmbiguousSession { .. } => EngineError::AmbiguousSession {
        name: text(),
        candidates: text(),
    },
    EngineError::UnboundSession(_) => EngineError::UnboundSession("a:b".parse().unwrap()),
    EngineError::GoneFrame(_) => EngineError::GoneFrame(id()),
    EngineError::BadSession(_) => EngineError::BadSession(NotASession::NoHost(text())),
    EngineError::UnknownTool { .. } => EngineError::UnknownTool { name: text(), nearest: None },
    EngineError::BadArguments { .. } => EngineError::BadArguments { tool: text(), problem: text() },
    EngineError::UnknownSetting { .. } => EngineError::UnknownSetting {
        key: text(),
        nearest: None,
        origin: None,
    },
    EngineError::BadSetting { .. } => EngineError::BadSetting {
        key: text(),
        problem: text(),
        origin: None,
    },
    EngineError::BadSettingsFile { .. } => EngineError::BadSettingsFile {
        path: PathBuf::new(),
        source: text().into(),
    },
    EngineError::BadQuery(_) => EngineError::BadQuery(BadQuery::Empty),
    EngineError::Cancelled => EngineError::Cancelled,
    EngineError::BudgetTooSmall(_) => EngineError::BudgetTooSmall(TooSmall { total: 1 }),
    EngineError::SetAside { .. } => EngineError::SetAside {
        place: PathBuf::new(),
        source: damaged(),
    },
    EngineError::StoreGone(_) => EngineError::StoreGone(1),
    EngineError::NoStore(_) => EngineError::NoStore(PathBuf::new()),
    EngineError::TextTooLong(_) => EngineError::TextTooLong(1),
    EngineError::NoHome => EngineError::NoHome,
    EngineError::RelativeHome(_) => EngineError::RelativeHome(PathBuf::new()),
    EngineError::UnknownProject(_) => EngineError::UnknownProject(text()),
    EngineError::ProjectInPlace(_) => EngineError::ProjectInPlace(PathBuf::new()),
    EngineError::ProjectNotEmpty(_) => EngineError::ProjectNotEmpty(PathBuf::new()),
    EngineError::InUse(_) => EngineError::InUse(PathBuf::new()),
    EngineError::BadPattern(_) => EngineError::BadPattern(text()),
    EngineError::ForeignState(_) => EngineError::ForeignState(PathBuf::new()),
    EngineError::NoSuchText { .. } => EngineError::NoSuchText { id: id(), number: 1, pieces: 0 },
    EngineError::NoSuchEntry { .. } => EngineError::NoSuchEntry { id: id(), number: 1, entries: 0 },
    EngineError::EntryTooFar { .. } => EngineError::EntryTooFar { id: id(), number: 1 },
    EngineError::LostText(_) => EngineError::LostText(damaged()),
    EngineError::BadInput(_) => EngineError::BadInput(text()),
    EngineError::Internal(_) => EngineError::Internal("x"),
    EngineError::Store(_) => EngineError::Store(StoreError::Busy),
    EngineError::Io(_) => EngineError::Io(ErrorKind::NotFound.into()),
});

/// No tool mends a store, so those hints ask the user to run one command. All others name tools.
#[test]
fn models_are_given_command_lines_only_for_what_no_tool_does() {
    let stores = store_errors().into_iter().map(EngineError::Store);
    for error in errors().into_iter().chain(stores) {
        let hint = error.hint(Voice::Tool).unwrap_or_default();
        let names_a_command = hint.contains("flame ") || hint.contains("`--");
        assert!(
            !names_a_command || hint == ASK_THE_USER,
            "{error:?}: {hint}"
        );
    }
}
