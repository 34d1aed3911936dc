-- Everything here is folded from the journal and can be made again (`flame rebuild`).
-- A change to this file needs a new PROJECTIONS_VERSION.
-- Kept by name, without row numbers: a frame is one place to write, not two.
CREATE TABLE frames (
    id                  TEXT    PRIMARY KEY,
    parent              TEXT,
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
    closed              INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX frames_in_order ON frames (parent, rank, id);
-- Listings want the open children, or the last few finished ones, however many the others are.
CREATE INDEX frames_open ON frames (parent, rank, id)
    WHERE status = 'planned' OR status = 'in_progress' OR status = 'blocked';
CREATE INDEX frames_finished ON frames (parent, rank, id)
    WHERE status <> 'planned' AND status <> 'in_progress' AND status <> 'blocked';

-- A context wants what is being worked on among ten thousand plans, and what ended last.
CREATE INDEX frames_begun ON frames (parent, status, rank, id)
    WHERE status IN ('in_progress', 'blocked');
CREATE INDEX frames_ended ON frames (parent, status, coalesce(closed, changed), rank, id)
    WHERE status IN ('completed', 'failed');

CREATE INDEX frames_ended_changed ON frames (parent, changed)
    WHERE status IN ('completed', 'failed');

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
    active   TEXT
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
    micro_dollars INTEGER
) STRICT, WITHOUT ROWID;

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
    scope  TEXT    NOT NULL,
    status TEXT    NOT NULL,
    n      INTEGER NOT NULL,
    PRIMARY KEY (scope, status)
) STRICT, WITHOUT ROWID;
