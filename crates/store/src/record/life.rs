//! Lives of sessions in the journal's format: processes, calls, interruptions, sessions made by a
//! command. Whole lives are only in the projection.

use flamestack_core::id::{FrameId, Seq, SessionRef, Timestamp};
use flamestack_core::session::checkpoint::{
    CallInFlight, CallOutcome, CallStart, InterruptionCause, InterruptionCheckpoint,
    ProcessIdentity, QueuedPrompt, RepositoryState,
};
use flamestack_core::session::life::{Life, LifeMetrics, LifeTimes, Transition};
use flamestack_core::session::link::{Creation, LinkKind};
use flamestack_core::session::state::{SessionState, Signal};
use flamestack_core::text::Text;
use flamestack_core::transcript::CallKind;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::form::{self, Stored, known, records, stored_as, stored_by_name};

records! {
    ProcessRecord for ProcessIdentity as "ProcessIdentity" {
        pid: u64,
        started: String [default],
        boot: String [default],
    }
    CreationRecord for Creation as "Creation" {
        session: SessionRef,
        purpose: Text,
        agent: Option<Text> = default,
        phase: Option<Text> = default,
        from: Option<SessionRef> = default,
        frame: Option<FrameId> = default,
    }
    CallRecord for CallStart as "CallStart" {
        call: String,
        tool: String,
        kind: CallKind [rename = "does"],
        input: String,
        paths: Vec<String> = default,
    }
    InFlightRecord for CallInFlight as "CallInFlight" {
        start: CallStart [flatten],
        since: Timestamp,
        cut: bool = default,
    }
    QueuedRecord for QueuedPrompt as "QueuedPrompt" {
        message: Option<String> = default,
        words: Text,
        steps: u64 [default],
    }
    GitRecord for RepositoryState as "RepositoryState" {
        head: Option<String> = default,
        dirty: Vec<String> = default,
        dirty_total: u64 [default],
    }
    InterruptionRecord for InterruptionCheckpoint as "InterruptionCheckpoint" {
        cause: InterruptionCause,
        frame: Option<FrameId> = default,
        last_message: Option<String> = default,
        in_flight: Vec<CallInFlight> = default,
        files: Vec<String> = default,
        queued: Vec<QueuedPrompt> = default,
        git: Option<RepositoryState> = default,
    }
    TransitionRecord for Transition as "Transition" {
        from: Option<SessionState> = default,
        to: SessionState,
        at: Timestamp,
        seq: Seq,
        signal: Signal,
        detail: Option<Text> = default,
    }
    TimesRecord for LifeTimes as "LifeTimes" {
        opened: Timestamp,
        active: Timestamp,
        prompted: Option<Timestamp> = default,
        idle: Option<Timestamp> = default,
        compacted: Option<Timestamp> = default,
        resumed: Option<Timestamp> = default,
    }
    MetricsRecord for LifeMetrics as "LifeMetrics" {
        first_tool: Option<String> = default,
        turns: u64 [default],
        failures: u64 [default],
        steps: u64 [default],
        calls: u64 [default],
        failed_calls: u64 [default],
        refused_calls: u64 [default],
        delegations: u64 [default],
    }
    LifeRecord for Life as "Life" {
        session: SessionRef,
        state: SessionState,
        last: Transition,
        transitions: u64,
        parent: Option<SessionRef> = default,
        is_adopted: bool = default,
        children: Vec<SessionRef> = default,
        calls: Vec<CallInFlight> = default,
        queued: Vec<QueuedPrompt> = default,
        touched: Vec<String> = default,
        message: Option<String> = default,
        process: Option<ProcessIdentity> = default,
        creation: Option<Creation> = default,
        times: LifeTimes,
        metrics: LifeMetrics,
    }
}

stored_as! {
    InterruptionCause as String: |cause| cause.as_str(),
        |name| known(Self::from_name(&name), &name, "a cause of an interruption"),
        // Journals from before causes were recorded have none.
        absent: Self::Abort;
    // A kind that a later version added is some other one here.
    CallKind as String: |kind| kind.as_str(),
        |name| Ok(Self::from_name(&name).unwrap_or(Self::Other));
}

stored_by_name! {
    LinkKind: "a kind of link";
    CallOutcome: "an outcome of a call";
    SessionState: "a state of a session";
    Signal: "a signal";
}
