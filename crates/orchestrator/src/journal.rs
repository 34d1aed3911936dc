//! The run's journal on disk: one JSON object per line, written through before the call it announces.
//!
//! A line that a crash tore is the last one and is dropped: the call that it announces was not made.
//! Next to the journal are a lock, which one driver holds, and the inbox of the user's messages.

use std::fs::{File, TryLockError};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use fs_err::OpenOptions;
use serde_json::Value;

use crate::error::RunError;
use crate::record::RunRecord;

/// Fields of records that hold text of models and users. Everything else is ids and numbers.
const TEXTS: [&str; 8] = [
    "text", "title", "criteria", "results", "reason", "lesson", "remarks", "message",
];

/// A rewriting of text before it is written, which removes secrets.
pub type Redaction<'r> = Box<dyn Fn(&str) -> String + 'r>;

/// A journal of a run.
pub trait RunJournal {
    /// Returns all records.
    fn read(&mut self) -> Result<Vec<RunRecord>, RunError>;
    /// Appends a record. It is on disk when this returns.
    fn append(&mut self, record: &RunRecord) -> Result<(), RunError>;
}

/// A journal in a file.
pub struct FileJournal<'r> {
    path: PathBuf,
    file: fs_err::File,
    redaction: Redaction<'r>,
    /// Held while the run is driven; released when the process ends, however it ends.
    lock: File,
}

impl Drop for FileJournal<'_> {
    /// Releases the lock itself, not only this handle of it: a process that is just being started has a
    /// copy until it runs its program, and would keep the next driver out.
    fn drop(&mut self) {
        // The lock goes with the process in any case.
        self.lock.unlock().ok();
    }
}

impl<'r> FileJournal<'r> {
    /// Opens a journal, creating it if needed. Fails if another process drives the run.
    pub fn open(path: &Path, run: &str, redaction: Redaction<'r>) -> Result<Self, RunError> {
        let fail = |error| failed(path, error);
        if let Some(dir) = path.parent() {
            private(dir).map_err(fail)?;
        }
        let lock = path.with_extension("lock");
        let lock = File::create(&lock).map_err(fail)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(RunError::Busy {
                    run: run.to_owned(),
                });
            }
            Err(TryLockError::Error(error)) => return Err(fail(error)),
        }
        let mut options = OpenOptions::new();
        options.create(true).read(true).append(true);
        let file = options.open(path).map_err(fail)?;
        if let Some(dir) = path.parent() {
            File::open(dir)
                .and_then(|dir| dir.sync_all())
                .map_err(fail)?;
        }
        let mut journal = Self {
            path: path.to_owned(),
            file,
            redaction,
            lock,
        };
        journal.drop_torn_line()?;
        Ok(journal)
    }

    /// Removes a last line that a crash tore, so that the next one begins at its own place.
    fn drop_torn_line(&mut self) -> Result<(), RunError> {
        let fail = |error| failed(&self.path, error);
        let mut text = Vec::new();
        self.file.seek(SeekFrom::Start(0)).map_err(fail)?;
        self.file.read_to_end(&mut text).map_err(fail)?;
        let whole = text.iter().rposition(|byte| *byte == b'\n');
        let whole = whole.map_or(0, |end| end + 1);
        if whole < text.len() {
            self.file.set_len(whole as u64).map_err(fail)?;
            self.file.sync_data().map_err(fail)?;
        }
        Ok(())
    }
}

impl RunJournal for FileJournal<'_> {
    fn read(&mut self) -> Result<Vec<RunRecord>, RunError> {
        read_records(&self.path)
    }

    fn append(&mut self, record: &RunRecord) -> Result<(), RunError> {
        let fail = |error| failed(&self.path, error);
        let mut value = serde_json::to_value(record)
            .map_err(|error| fail(std::io::Error::other(error.to_string())))?;
        redact(&mut value, &self.redaction, false);
        // One write, so that a crash leaves at most one torn line.
        let line = format!("{value}\n");
        self.file.write_all(line.as_bytes()).map_err(fail)?;
        if record.must_be_durable() {
            self.file.sync_data().map_err(fail)?;
        }
        Ok(())
    }
}

/// Redacts the texts of a record.
fn redact(value: &mut Value, redaction: &Redaction<'_>, is_text: bool) {
    match value {
        Value::String(text) if is_text => *text = redaction(text),
        Value::Array(items) => {
            for item in items {
                redact(item, redaction, is_text);
            }
        }
        Value::Object(fields) => {
            // The message of an act is an id.
            let is_act = fields.contains_key("act");
            for (name, field) in fields {
                let is_text = TEXTS.contains(&name.as_str()) && !(is_act && name == "message");
                redact(field, redaction, is_text);
            }
        }
        _ => {}
    }
}

/// Creates a folder that only the user can read.
fn private(dir: &Path) -> std::io::Result<()> {
    fs_err::create_dir_all(dir)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs_err::set_permissions(dir, std::fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}

pub(crate) fn read_records(path: &Path) -> Result<Vec<RunRecord>, RunError> {
    let text = fs_err::read(path).map_err(|error| failed(path, error))?;
    let text = String::from_utf8_lossy(&text);
    let mut records = Vec::new();
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        // A torn line was never acknowledged.
        if !line.ends_with('\n') {
            break;
        }
        let record = serde_json::from_str(line).map_err(|error| RunError::Damaged {
            path: path.to_owned(),
            line: number,
            reason: error.to_string(),
        })?;
        records.push(record);
    }
    Ok(records)
}

pub(crate) fn failed(path: &Path, source: std::io::Error) -> RunError {
    RunError::Journal {
        path: path.to_owned(),
        source,
    }
}

/// A journal in memory, for simulations.
#[derive(Clone, Debug, Default)]
pub struct MemoryJournal {
    /// Its records.
    pub records: Vec<RunRecord>,
}

impl RunJournal for MemoryJournal {
    fn read(&mut self) -> Result<Vec<RunRecord>, RunError> {
        Ok(self.records.clone())
    }

    fn append(&mut self, record: &RunRecord) -> Result<(), RunError> {
        self.records.push(record.clone());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alive(at: i64) -> RunRecord {
        RunRecord::Alive { at }
    }

    #[test]
    fn a_torn_line_is_dropped_and_a_damaged_one_reported() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("runs/r.jsonl");
        let open = || FileJournal::open(&path, "r", Box::new(str::to_owned));
        {
            let mut journal = open().unwrap();
            journal.append(&alive(1)).unwrap();
            assert!(matches!(open(), Err(RunError::Busy { .. })));
        }
        let whole = fs_err::read(&path).unwrap();
        for cut in 1..whole.len() {
            let torn = [&whole[..], &whole[..cut]].concat();
            fs_err::write(&path, torn).unwrap();
            let mut journal = open().unwrap();
            journal.append(&alive(2)).unwrap();
            assert_eq!(journal.read().unwrap(), [alive(1), alive(2)], "{cut}");
        }
        fs_err::write(&path, b"{}\n{\"record\":\"alive\",\"at\":1}\n").unwrap();
        let damaged = open().unwrap().read();
        assert!(matches!(damaged, Err(RunError::Damaged { line: 1, .. })));
    }

    #[test]
    fn texts_are_redacted_and_ids_are_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("runs/r.jsonl");
        let hide = |text: &str| text.replace("hunter2", "[redacted]");
        let mut journal = FileJournal::open(&path, "r", Box::new(hide)).unwrap();
        let spoken = RunRecord::Spoken {
            at: 1,
            id: "hunter2-id".to_owned(),
            frame: flamestack_core::FrameId::from_entropy(1),
            text: "it is hunter2".to_owned(),
        };
        journal.append(&spoken).unwrap();
        let text = fs_err::read_to_string(&path).unwrap();
        assert!(
            text.contains("it is [redacted]") && text.contains("hunter2-id"),
            "{text}"
        );
    }
}
