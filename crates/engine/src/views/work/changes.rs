//! Changes of the ledger that the outline has yet to follow.

use std::collections::BTreeSet;

use flamestack_core::{Event, FrameId};

/// Changes since the outline was updated.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// Frames that changed.
    touched: BTreeSet<FrameId>,
    /// Set when frames may have changed that no event names.
    needs_full_read: bool,
    /// Set when events were masked or unmasked, which may have moved sessions to other frames.
    is_masked: bool,
    has_changed: bool,
}

impl Changes {
    pub(super) fn has_changed(&self) -> bool {
        self.has_changed
    }

    /// Returns the frames that changed since it was asked last, or `None` if any may have.
    pub(super) fn take_touched(&mut self) -> Option<BTreeSet<FrameId>> {
        self.has_changed = false;
        let touched = std::mem::take(&mut self.touched);
        (!std::mem::take(&mut self.needs_full_read)).then_some(touched)
    }

    /// Returns true if sessions may work on other frames than the events say.
    pub(super) fn take_masked(&mut self) -> bool {
        std::mem::take(&mut self.is_masked)
    }

    /// Notes what an event may have changed. `is_new` is false if the outline was read after the event.
    pub(super) fn note(&mut self, event: &Event, is_new: bool) {
        self.has_changed = true;
        self.is_masked |= matches!(
            event,
            Event::CommandUndone { .. }
                | Event::SessionReverted { .. }
                | Event::SessionRestored { .. }
        );
        if !is_new {
            return;
        }
        self.touched.extend(event.frames());
        match event {
            Event::SessionFocused { to, .. } => self.touched.extend(*to),
            Event::FrameMoved { .. }
            | Event::CommandUndone { .. }
            | Event::SessionReverted { .. }
            | Event::SessionRestored { .. }
            | Event::TextForgotten { .. } => self.needs_full_read = true,
            _ => {}
        }
    }
}
