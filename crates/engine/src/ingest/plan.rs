//! The steps of an ingest: each entry is observed, and raw text is logged once it is complete.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;

use flamestack_core::id::Fingerprint;
use flamestack_core::transcript::{Call, Entry, EntryKind};
use flamestack_core::{Actor, SessionRef};
use flamestack_store::transcript;

use super::memory::Ingest;
use super::{IngestStep, thread_of};
use crate::Engine;
use crate::error::Result;

/// Raw text is stored in pieces of about this many bytes, or a turn at a time.
const PIECE: usize = 256 * 1024;

impl Engine {
    /// Plans the steps for entries: each is observed, and raw text is logged once it is complete.
    pub(super) fn plan<'e>(
        &self,
        actor: &Actor,
        ingest: &mut Ingest,
        entries: &'e [Entry],
    ) -> Result<Vec<IngestStep<'e>>> {
        let known = self.known_texts(actor, entries)?;
        let mut steps = Vec::new();
        for (entry, known) in entries.iter().zip(known) {
            let thread = thread_of(&actor.session, entry);
            // A prompt begins a turn; everything before it belongs to the previous one.
            if entry.is_prompt() && !known {
                steps.extend(ingest.take_text(&thread));
            }
            let ended = ended_thread(actor, &thread, &entry.kind);
            if !known {
                let boundary = ingest.signals.read(entry);
                ingest.signals.boundary = boundary.or(ingest.signals.boundary);
            }
            // The call comes again with its answer.
            let is_text = !matches!(entry.kind, EntryKind::Begun(_));
            if !known && is_text {
                let pending = ingest.pending.entry(thread.clone()).or_default();
                if pending.text.is_empty() {
                    pending.message.clone_from(&entry.message);
                    pending.at = entry.at;
                }
                pending.text.push_str(&transcript::encode(entry));
                pending.marks.extend(entry.text_mark(&actor.session));
            }
            steps.push(IngestStep::Observe(Box::new(within(
                &self.project().root,
                entry,
            ))));
            let full = ingest.pending.get(&thread);
            if full.is_some_and(|pending| pending.text.len() >= PIECE) {
                steps.extend(ingest.take_text(&thread));
            }
            if let Some(ended) = ended.filter(|_| !known) {
                steps.extend(ingest.take_text(&ended));
            }
        }
        Ok(steps)
    }

    /// Returns for each entry whether its raw text is stored or pending already.
    fn known_texts(&self, actor: &Actor, entries: &[Entry]) -> Result<Vec<bool>> {
        let mut here: BTreeSet<Fingerprint> = {
            let ingests = self.ingests();
            let ingest = ingests.get(&actor.session);
            let pending = ingest
                .into_iter()
                .flat_map(|ingest| ingest.pending.values());
            pending
                .flat_map(|text| text.marks.iter().copied())
                .collect()
        };
        self.read(|reading| {
            let mut known = Vec::with_capacity(entries.len());
            for entry in entries {
                let copied = entry
                    .message
                    .as_ref()
                    .map(|message| Entry::copied_mark(&actor.session, message));
                let elsewhere = match copied {
                    Some(mark) => reading.is_seen(mark)?,
                    None => false,
                };
                known.push(match entry.text_mark(&actor.session) {
                    _ if elsewhere => true,
                    Some(mark) => !here.insert(mark) || reading.is_seen(mark)?,
                    None => false,
                });
            }
            Ok(known)
        })
    }
}

/// Returns the thread whose text is complete after an entry.
fn ended_thread(actor: &Actor, thread: &SessionRef, kind: &EntryKind) -> Option<SessionRef> {
    match kind {
        EntryKind::SubagentEnded { id, .. } => actor.session.beside(id),
        EntryKind::TurnEnded
        | EntryKind::Interrupted { .. }
        | EntryKind::Failed { .. }
        | EntryKind::Compacted { .. } => Some(thread.clone()),
        EntryKind::User { .. }
        | EntryKind::Assistant { .. }
        | EntryKind::Thinking { .. }
        | EntryKind::Call(_)
        | EntryKind::Begun(_)
        | EntryKind::Answer(_)
        | EntryKind::Attached { .. }
        | EntryKind::SubagentStarted { .. }
        | EntryKind::Todos(_)
        | EntryKind::Plan { .. }
        | EntryKind::Changed { .. }
        | EntryKind::Waiting { .. }
        | EntryKind::Titled { .. }
        | EntryKind::Usage(_) => None,
    }
}

/// Makes the paths of an entry relative to the project where they are inside it.
fn within<'e>(root: &Path, entry: &'e Entry) -> Cow<'e, Entry> {
    let relative = |path: &String| {
        let inside = Path::new(path).strip_prefix(root).ok()?;
        Some(inside.to_string_lossy().into_owned()).filter(|inside| !inside.is_empty())
    };
    let paths = match &entry.kind {
        EntryKind::Call(call) | EntryKind::Begun(call) => &call.paths,
        EntryKind::Changed { paths } => paths,
        _ => return Cow::Borrowed(entry),
    };
    if !paths.iter().any(|path| relative(path).is_some()) {
        return Cow::Borrowed(entry);
    }
    let mut entry = entry.clone();
    if let EntryKind::Call(Call { paths, .. })
    | EntryKind::Begun(Call { paths, .. })
    | EntryKind::Changed { paths } = &mut entry.kind
    {
        for path in paths {
            if let Some(inside) = relative(path) {
                *path = inside;
            }
        }
    }
    Cow::Owned(entry)
}
