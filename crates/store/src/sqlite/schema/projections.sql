-- Everything here is folded from the journal and can be made again (`flame rebuild`).
-- A change to this file needs a new PROJECTIONS_VERSION.
-- Without row ids, so that a frame is one place to write instead of two.
CREATE TABLE frames (
    id                  TEXT    PRIMARY KEY,
    parent              TEXT,
    root                TEXT    NOT NULL,   -- the root, and the number of ancestors: a path
    depth               INTEGER NOT NULL,   -- may have a hundred thousand frames
    rank                INTEGER NOT NULL,
    status              TEXT    NOT NULL,
    origin              TEXT    NOT NULL,
    title               TEXT    NOT NULL,
    criteria            TEXT,
    criteria_compacted  TEXT,
    results             TEXT,
    results_compacted   TEXT,
    blocked_on          TEXT,
    invalidation_reason TEXT,
    invalidated_at      INTEGER,
    span_session        TEXT,
    span_first          TEXT,
    span_last           TEXT,
    session             TEXT,
    foreign_json        TEXT,
    created_at          INTEGER NOT NULL,
    updated_at          INTEGER NOT NULL,
    changed             INTEGER NOT NULL,
    closed              INTEGER,
    summary             TEXT,
    awaiting            TEXT,       -- the summary that it waits for, as JSON
    long                INTEGER NOT NULL    -- bits of the texts that are in long_texts
) STRICT, WITHOUT ROWID;
-- Every listing in order, of all children or of some: open ones, finished ones, those being worked
-- on among ten thousand plans. One index, since each index is another page that a command writes; a
-- listing of several statuses merges their ranges.
CREATE INDEX frames_by_place ON frames (parent, status, rank, id);
-- Contexts show the frames that ended last and those that were edited after their end.
CREATE INDEX frames_ended ON frames (parent, status, closed, rank, id)
    WHERE status IN ('completed', 'failed');
CREATE INDEX frames_amended ON frames (parent, changed)
    WHERE status IN ('completed', 'failed') AND changed > closed;

-- The few frames that wait for a summary.
CREATE INDEX frames_awaiting ON frames (id) WHERE awaiting IS NOT NULL;

-- Users name frames by their titles.
CREATE INDEX frames_by_title ON frames (title COLLATE NOCASE);

-- A host's to-do list names its items by their text.
CREATE INDEX frames_todo ON frames (parent, title, rank, id) WHERE origin = 'todo';

-- Texts of frames that are too long for their rows. With row ids, like notes: to compare a key in a
-- table without them, SQLite reads the whole row.
CREATE TABLE long_texts (
    frame TEXT    NOT NULL,
    bit   INTEGER NOT NULL,
    text  TEXT    NOT NULL,
    PRIMARY KEY (frame, bit)
) STRICT;

CREATE TABLE notes (
    frame TEXT    NOT NULL,
    seq   INTEGER NOT NULL,
    n     INTEGER NOT NULL,
    kind  TEXT    NOT NULL,
    text  TEXT    NOT NULL,
    why   TEXT,
    code  INTEGER,             -- exit code of a command, 1 or 0 for a test
    by    TEXT,                -- `user` for what the user recorded at a terminal
    mark  INTEGER NOT NULL,    -- hash of the text
    PRIMARY KEY (frame, seq, n)
) STRICT;

-- Finds a text among any number of notes, however long and alike they are.
CREATE INDEX notes_by_text ON notes (frame, kind, mark, seq, n);
CREATE INDEX notes_directives ON notes (frame, seq, n) WHERE kind = 'directive';

CREATE TABLE log_entries (
    frame TEXT    NOT NULL,
    seq   INTEGER NOT NULL,
    n     INTEGER NOT NULL,
    label TEXT    NOT NULL,
    blob  TEXT    NOT NULL,
    bytes INTEGER NOT NULL,
    PRIMARY KEY (frame, seq, n)
) STRICT, WITHOUT ROWID;
CREATE INDEX log_entries_by_blob ON log_entries (blob);

CREATE TABLE aliases (
    alias TEXT PRIMARY KEY,
    frame TEXT NOT NULL,
    n     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX aliases_by_frame ON aliases (frame, n);

CREATE TABLE sessions (
    key      TEXT PRIMARY KEY,
    id       TEXT NOT NULL,     -- the part after `host:`
    worktree TEXT,
    own      TEXT,
    active   TEXT,
    turn_message TEXT,          -- the message in which it last switched frames by itself
    turn_before  TEXT,          -- and its active frame before that
    reverted     INTEGER        -- the event that reverted it, until that is final
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_by_id ON sessions (id);
CREATE INDEX sessions_live ON sessions (active) WHERE active IS NOT NULL;

-- Activity counters of each session, and the state that its next turn needs.
CREATE TABLE activity (
    session       TEXT    PRIMARY KEY,
    prompts       INTEGER NOT NULL,
    opening       TEXT,             -- the message of the first prompt
    said          TEXT,             -- the model's last words in the turn that ended last
    interrupted   INTEGER NOT NULL,
    interruptions INTEGER NOT NULL,
    compactions   INTEGER NOT NULL,
    calls         INTEGER NOT NULL,
    model         TEXT,
    input         INTEGER NOT NULL,
    cache_read    INTEGER NOT NULL,
    cache_write   INTEGER NOT NULL,
    output        INTEGER NOT NULL,
    reasoning     INTEGER NOT NULL,
    micro_dollars INTEGER,
    size          INTEGER NOT NULL,     -- tokens of the last call, prompt and answer
    streak        INTEGER NOT NULL,     -- compactions in a row
    streak_calls  INTEGER NOT NULL,     -- model calls since the last of them
    stall         TEXT,                 -- how its work repeats itself, as JSON
    resumes       INTEGER NOT NULL,     -- attempts to go on after an interruption
    is_resuming   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The compactions of a session as JSON, numbered from 1.
CREATE TABLE compactions (
    session TEXT    NOT NULL,
    n       INTEGER NOT NULL,
    body    TEXT    NOT NULL,
    PRIMARY KEY (session, n)
) STRICT, WITHOUT ROWID;

-- Subagents: sessions that other sessions started.
CREATE TABLE runs (
    session     TEXT    PRIMARY KEY,
    parent      TEXT,               -- the session that started it
    goal        TEXT,
    kind        TEXT,
    task        INTEGER,            -- the fingerprint of its instructions
    message     TEXT,               -- the parent's message that started the last attempt
    state       TEXT    NOT NULL,
    waiting_for TEXT,
    attempts    INTEGER NOT NULL,
    started     INTEGER NOT NULL,
    active      INTEGER NOT NULL,
    ended       INTEGER,
    output      TEXT,
    ended_by    TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX runs_by_parent ON runs (parent, started, session);
CREATE INDEX runs_in_flight ON runs (started, session) WHERE ended IS NULL;

-- The life of each session as JSON: its state and all that the state depends on.
CREATE TABLE lives (
    session TEXT PRIMARY KEY,
    parent  TEXT,               -- the session that started it or took it over
    state   TEXT NOT NULL,
    body    TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX lives_by_parent ON lives (parent, session) WHERE parent IS NOT NULL;
-- The few sessions with a running turn, which each start of a host looks through.
CREATE INDEX lives_busy ON lives (session)
    WHERE state IN ('executing', 'waiting_user', 'waiting_child', 'compacting');

-- The changes of state of each session, numbered from 1.
CREATE TABLE transitions (
    session    TEXT    NOT NULL,
    n          INTEGER NOT NULL,
    from_state TEXT,                -- null for the first
    to_state   TEXT    NOT NULL,
    at         INTEGER NOT NULL,
    seq        INTEGER NOT NULL,    -- the event that is the signal
    signal     TEXT    NOT NULL,
    detail     TEXT,
    PRIMARY KEY (session, n)
) STRICT, WITHOUT ROWID;

-- The state of a session at each of its interruptions, as JSON.
CREATE TABLE interruptions (
    session TEXT    NOT NULL,
    seq     INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    body    TEXT    NOT NULL,
    PRIMARY KEY (session, seq)
) STRICT, WITHOUT ROWID;

-- Forks and hand-offs of sessions; parents are part of a life.
CREATE TABLE links (
    session TEXT NOT NULL,
    kind    TEXT NOT NULL,
    target  TEXT NOT NULL,
    PRIMARY KEY (session, kind, target)
) STRICT, WITHOUT ROWID;
CREATE INDEX links_by_target ON links (target);

-- Events that reopened a finished frame.
CREATE TABLE reopened (
    seq INTEGER PRIMARY KEY
) STRICT;

-- Fingerprints of the entries that are recorded already.
CREATE TABLE seen (
    mark INTEGER PRIMARY KEY
) STRICT;

-- Commands that ingest a transcript; undo skips them.
CREATE TABLE ingested (
    batch INTEGER PRIMARY KEY
) STRICT;

-- The subjects of each event: 0 a frame it changes, 1 a frame it needs, 2 a session it changes.
CREATE TABLE subjects (
    name TEXT    NOT NULL,
    seq  INTEGER NOT NULL,
    role INTEGER NOT NULL,
    PRIMARY KEY (name, seq, role)
) STRICT, WITHOUT ROWID;

CREATE TABLE undone (
    batch INTEGER PRIMARY KEY,
    by    INTEGER NOT NULL      -- the batch of the undo
) STRICT;
CREATE INDEX undone_by ON undone (by);

-- Events that no longer count because their session was reverted.
CREATE TABLE masked (
    seq INTEGER PRIMARY KEY
) STRICT;

-- Events that masked or unmasked earlier ones.
CREATE TABLE rewound (
    seq INTEGER PRIMARY KEY
) STRICT;

CREATE TABLE imports (
    source       TEXT PRIMARY KEY,
    foreign_json TEXT NOT NULL,
    seq          INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE dropped (
    blob  TEXT PRIMARY KEY,
    bytes INTEGER NOT NULL,
    seq   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Number of frames: below a parent, at the root (''), in all ('*'). Counted on each change, since a
-- parent may have a hundred thousand children.
CREATE TABLE totals (
    scope       TEXT    PRIMARY KEY,
    planned     INTEGER NOT NULL,
    in_progress INTEGER NOT NULL,
    completed   INTEGER NOT NULL,
    failed      INTEGER NOT NULL,
    blocked     INTEGER NOT NULL,
    invalidated INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Folding needs the finished frames of one session. Work at a terminal has no messages to fold.
CREATE INDEX frames_by_span ON frames (span_session, closed)
    WHERE closed IS NOT NULL AND (span_session < 'shell:' OR span_session > 'shell;')
      AND status IN ('completed', 'failed');

-- Hosts' descriptions of their sessions, as JSON.
CREATE TABLE descriptions (
    session TEXT PRIMARY KEY,
    body    TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The model that a session uses.
CREATE TABLE models (
    session TEXT PRIMARY KEY,
    name    TEXT    NOT NULL,
    tokens  INTEGER             -- the maximum of a prompt
) STRICT, WITHOUT ROWID;

-- The deliveries to a session since its last header; their texts are in the journal.
CREATE TABLE sent (
    session TEXT    NOT NULL,
    seq     INTEGER NOT NULL,
    message TEXT,
    content INTEGER NOT NULL,   -- 2 a header, 1 an update, 0 nothing
    PRIMARY KEY (session, seq)
) STRICT, WITHOUT ROWID;

-- Suggestions and what became of them; their texts are in the journal.
CREATE TABLE suggestions (
    seq       INTEGER PRIMARY KEY,
    session   TEXT    NOT NULL,
    heuristic TEXT    NOT NULL,
    mark      INTEGER NOT NULL,     -- identifies the evidence
    state     TEXT    NOT NULL,
    counts    INTEGER NOT NULL      -- 0 if it was made before the last reset
) STRICT;
CREATE INDEX suggestions_by_session ON suggestions (session, seq);

-- Sessions in which no suggestions are made until they have this many prompts.
CREATE TABLE snoozed (
    session TEXT    PRIMARY KEY,
    until   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
