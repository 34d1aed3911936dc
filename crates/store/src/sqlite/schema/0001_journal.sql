-- The journal. Rows are only ever added.
CREATE TABLE events (
    seq     INTEGER PRIMARY KEY,
    batch   INTEGER NOT NULL,   -- the first event of the same command
    at      INTEGER NOT NULL,   -- milliseconds since 1970
    session TEXT    NOT NULL,
    message TEXT,
    body    TEXT    NOT NULL,   -- JSON
    sum     INTEGER NOT NULL    -- hash of all of the above: a flipped bit is noticed
) STRICT;

CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
