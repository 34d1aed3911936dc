-- Everything here is folded from the journal and can be made again (`flame rebuild`).
-- A change to this file needs a new PROJECTIONS_VERSION.
-- Kept by name, without row numbers: a frame is one place to write, not two.
CREATE TABLE frames (
    id                  TEXT    PRIMARY KEY,
    parent              TEXT,
    root                TEXT    NOT NULL,   -- the frame at the top, and how many are above: a path
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
    awaiting            TEXT        -- the summary that it waits for, as JSON
) STRICT, WITHOUT ROWID;
-- Every listing in order, of all children or of some: open ones, finished ones, those being worked
-- on among ten thousand plans. One index, since each more is one more page that a command writes; a
-- listing of several statuses merges their ranges.
CREATE INDEX frames_by_place ON frames (parent, status, rank, id);
-- A context wants what ended last, and what was amended after its end.
CREATE INDEX frames_ended ON frames (parent, status, closed, rank, id)
    WHERE status IN ('completed', 'failed');
CREATE INDEX frames_amended ON frames (parent, changed)
    WHERE status IN ('completed', 'failed') AND changed > closed;

-- The few frames that wait for a summary.
CREATE INDEX frames_awaiting ON frames (id) WHERE awaiting IS NOT NULL;

-- A host's to-do list names its items by their text.
CREATE INDEX frames_todo ON frames (parent, title, rank, id) WHERE origin = 'todo';

CREATE TABLE notes (
    frame TEXT    NOT NULL,
    seq   INTEGER NOT NULL,
    n     INTEGER NOT NULL,
    kind  TEXT    NOT NULL,
    text  TEXT    NOT NULL,
    why   TEXT,
    code  INTEGER,             -- exit code of a command, 1 or 0 for a test
    PRIMARY KEY (frame, seq, n)
) STRICT, WITHOUT ROWID;

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
    turn_message TEXT,          -- the message in which it last turned to another frame by itself
    turn_before  TEXT,          -- and what it worked on before that
    reverted     INTEGER        -- the event that wound it back, until that is final
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_by_id ON sessions (id);
CREATE INDEX sessions_live ON sessions (active) WHERE active IS NOT NULL;

-- What was seen of each session, in numbers and in the little that its next turn needs.
CREATE TABLE conversations (
    session       TEXT    PRIMARY KEY,
    prompts       INTEGER NOT NULL,
    opening       TEXT,             -- the message in which a person first spoke
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
    streak        INTEGER NOT NULL,     -- compactions that followed each other
    streak_calls  INTEGER NOT NULL      -- model calls since the last of them
) STRICT, WITHOUT ROWID;

-- What the compactions of a session came to, as JSON, from 1 on.
CREATE TABLE compactions (
    session TEXT    NOT NULL,
    n       INTEGER NOT NULL,
    body    TEXT    NOT NULL,
    PRIMARY KEY (session, n)
) STRICT, WITHOUT ROWID;

-- Conversations that others started.
CREATE TABLE runs (
    session     TEXT    PRIMARY KEY,
    parent      TEXT,               -- who started it
    goal        TEXT,
    kind        TEXT,
    task        INTEGER,            -- the fingerprint of what it was told
    message     TEXT,               -- the parent's message that started the last attempt
    state       TEXT    NOT NULL,
    waiting_for TEXT,
    attempts    INTEGER NOT NULL,
    started     INTEGER NOT NULL,
    active      INTEGER NOT NULL,
    ended       INTEGER,
    output      TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX runs_by_parent ON runs (parent, started, session);
CREATE INDEX runs_in_flight ON runs (started, session) WHERE ended IS NULL;

-- Finished frames that were taken up again.
CREATE TABLE reopened (
    seq INTEGER PRIMARY KEY
) STRICT;

-- What was seen already, by its mark.
CREATE TABLE seen (
    mark INTEGER PRIMARY KEY
) STRICT;

-- Commands that record what was seen; undo looks past them.
CREATE TABLE witnessed (
    batch INTEGER PRIMARY KEY
) STRICT;

-- What each event is about: 0 a frame it changes, 1 a frame it needs, 2 a session it changes.
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

-- Events that count no longer because their session was wound back.
CREATE TABLE masked (
    seq INTEGER PRIMARY KEY
) STRICT;

-- Events after which earlier ones count otherwise.
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

-- How many frames there are: below a parent, at the root (''), in all ('*'). Counted along, since a
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

-- Folding wants the finished frames of one conversation. What happened at a terminal is in none.
CREATE INDEX frames_by_span ON frames (span_session, closed)
    WHERE closed IS NOT NULL AND (span_session < 'shell:' OR span_session > 'shell;')
      AND status IN ('completed', 'failed');

-- What hosts say of their sessions, as JSON.
CREATE TABLE descriptions (
    session TEXT PRIMARY KEY,
    body    TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The model that a session talks to.
CREATE TABLE models (
    session TEXT PRIMARY KEY,
    name    TEXT    NOT NULL,
    tokens  INTEGER             -- what a prompt may have
) STRICT, WITHOUT ROWID;

-- The deliveries to a session since its last header, which stand in the journal.
CREATE TABLE sent (
    session TEXT    NOT NULL,
    seq     INTEGER NOT NULL,
    message TEXT,
    told    INTEGER NOT NULL,   -- 2 a header, 1 an update, 0 nothing
    PRIMARY KEY (session, seq)
) STRICT, WITHOUT ROWID;
