//! What hosts say of sessions, in the journal's format; the projection keeps the same.

use flamestack_core::id::SessionRef;
use flamestack_core::session::{Description, DiffTotals};
use flamestack_core::text::Prose;

use super::{DescriptionRecord, session};

/// A description as the projection keeps it.
pub(crate) fn description_text(description: &Description) -> String {
    // Texts and numbers always have a JSON form.
    serde_json::to_string(&DescriptionRecord::from(description)).unwrap_or_default()
}

/// A description out of the projection, which is made anew where it cannot be read.
pub(crate) fn description(body: &str) -> Option<Description> {
    let record: DescriptionRecord = serde_json::from_str(body).ok()?;
    record.try_into().ok()
}

impl From<&Description> for DescriptionRecord {
    fn from(description: &Description) -> Self {
        let text = |prose: &Option<Prose>| prose.as_ref().map(|prose| prose.as_str().to_owned());
        let key = |session: &Option<SessionRef>| session.as_ref().map(ToString::to_string);
        Self {
            directory: text(&description.directory),
            host_version: text(&description.host_version),
            agent: text(&description.agent),
            parent: key(&description.parent),
            copy_of: key(&description.copy_of),
            diff: description
                .diff
                .map(|diff| (diff.added, diff.deleted, diff.files)),
        }
    }
}

impl TryFrom<DescriptionRecord> for Description {
    type Error = String;

    fn try_from(record: DescriptionRecord) -> Result<Self, String> {
        let key = |text: Option<String>| text.as_deref().map(session).transpose();
        Ok(Self {
            directory: record.directory.map(Prose::recorded),
            host_version: record.host_version.map(Prose::recorded),
            agent: record.agent.map(Prose::recorded),
            parent: key(record.parent)?,
            copy_of: key(record.copy_of)?,
            diff: record.diff.map(|(added, deleted, files)| DiffTotals {
                added,
                deleted,
                files,
            }),
        })
    }
}
