//! Every list that `cargo xtask tidy` checks against.

/// Words and phrases that prose does not use, with what to write instead. They are looked for in
/// comments, string literals and Markdown, in any case, also across line ends.
pub(super) const PHRASES: &[(&str, &str)] = &[
    ("nobody", "name the actor, or use the passive"),
    ("somebody", "the user, the model, another process"),
    ("anybody", "the user, the model, another process"),
    ("whoever", "the caller, the reader"),
    ("who asks", "the caller"),
    ("told", "shown, reported, recorded, given"),
    ("tells of", "describes, reports"),
    ("tell of", "describe, report"),
    ("so many", "number of"),
    ("manieth", "the number of"),
    ("in vain", "without success"),
    ("comes to", "is, amounts to"),
    ("came to nothing", "failed"),
    ("come to nothing", "fail"),
    ("is none", "does not exist"),
    ("are none", "do not exist"),
    ("has not the", "lacks the"),
    ("have not the", "lack the"),
    ("goes along", "is included"),
    ("what is more", "also"),
    ("in front of", "before"),
    ("behind", "after"),
    ("stands", "is"),
    ("witness", "observe, record"),
    ("witnessed", "observed, recorded"),
    ("kin", "siblings"),
    ("kinship", "relevance"),
    ("deed", "action"),
    ("taken up again", "resumed"),
    ("takes up again", "resumes"),
    ("take up again", "resume"),
    ("is no news", "is not news"),
    ("no matter if", "whether or not"),
    ("in silence", "silently"),
];

/// Phrases that may contain one of the above, and may begin a doc comment.
pub(super) const ACCEPTED: &[&str] = &[
    // Plain English.
    "stands for",
    "session stands",
    "work stands",
    "behind a lock",
    "behind the lock",
    "there is none",
    // Words of prompts, summaries and tool descriptions. Models read them, and the quality figures
    // were measured with them.
    "is told as such",
    "tried in vain",
    "what defines done",
    "what was done or learned",
    "what the summary should emphasise",
];

/// Parts of identifiers that code does not use.
pub(super) const NAMES: &[&str] = &[
    "told", "kin", "kinship", "deed", "witness", "nobody", "somebody", "whoever", "untold",
];

/// Words that a doc comment does not begin with.
pub(crate) const OPENINGS: &[&str] = &["What", "Whether", "Where", "Which", "How", "Who", "Why"];

/// Beginnings of paths that exist on one machine only.
pub(super) const PATHS: &[&str] = &["/work/", "/root/", "/tmp/flame", "/home/", "/Users/"];

/// Folders below `/home/` and `/Users/` that examples and tests use.
pub(super) const EXAMPLE_USERS: &[&str] = &["a", "ada", "ann", "bob", "me", "user", "user1"];

/// Beginnings of the paths of files that must contain what the rules reject.
pub(super) const EXEMPT: &[&str] = &["xtask/src/tidy", "CHANGELOG.md"];
