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

use super::form::{self, Stored, known, records, stored_as, stored_by};

records! {
    ProcessRecord as "ProcessIdentity" {
        pid: u64,
        started: String [default],
        boot: String [default],
    }
    CreationRecord as "Creation" {
        session: SessionRef,
        purpose: Text,
        agent: Option<Text> = default,
        phase: Option<Text> = default,
        from: Option<SessionRef> = default,
        frame: Option<FrameId> = default,
    }
    CallRecord as "CallStart" {
        call: String,
        tool: String,
        kind: CallKind [rename = "does"],
        input: String,
        paths: Vec<String> = default,
    }
    InFlightRecord as "CallInFlight" {
        start: CallStart [flatten],
        since: Timestamp,
        cut: bool = default,
    }
    QueuedRecord as "QueuedPrompt" {
        message: Option<String> = default,
        words: Text,
        steps: u64 [default],
    }
    GitRecord as "RepositoryState" {
        head: Option<String> = default,
        dirty: Vec<String> = default,
        dirty_total: u64 [default],
    }
    InterruptionRecord as "InterruptionCheckpoint" {
        cause: InterruptionCause,
        frame: Option<FrameId> = default,
        last_message: Option<String> = default,
        in_flight: Vec<CallInFlight> = default,
        files: Vec<String> = default,
        queued: Vec<QueuedPrompt> = default,
        git: Option<RepositoryState> = default,
    }
    TransitionRecord as "Transition" {
        from: Option<SessionState> = default,
        to: SessionState,
        at: Timestamp,
        seq: Seq,
        signal: Signal,
        detail: Option<Text> = default,
    }
    TimesRecord as "LifeTimes" {
        opened: Timestamp,
        active: Timestamp,
        prompted: Option<Timestamp> = default,
        idle: Option<Timestamp> = default,
        compacted: Option<Timestamp> = default,
        resumed: Option<Timestamp> = default,
    }
    MetricsRecord as "LifeMetrics" {
        first_tool: Option<String> = default,
        turns: u64 [default],
        failures: u64 [default],
        steps: u64 [default],
        calls: u64 [default],
        failed_calls: u64 [default],
        refused_calls: u64 [default],
        delegations: u64 [default],
    }
    LifeRecord as "Life" {
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

stored_by! {
    ProcessIdentity: ProcessRecord;
    Creation: CreationRecord;
    CallStart: CallRecord;
    CallInFlight: InFlightRecord;
    QueuedPrompt: QueuedRecord;
    RepositoryState: GitRecord;
    InterruptionCheckpoint: InterruptionRecord;
    Transition: TransitionRecord;
    LifeTimes: TimesRecord;
    LifeMetrics: MetricsRecord;
    Life: LifeRecord;
}

stored_as! {
    InterruptionCause as String: |cause| cause.as_str(),
        |name| known(Self::from_name(&name), &name, "a cause of an interruption"),
        // Journals from before causes were recorded have none.
        absent: Self::Abort;
    LinkKind as String: |kind| kind.as_str(),
        |name| known(Self::from_name(&name), &name, "a kind of link");
    CallOutcome as String: |outcome| outcome.as_str(),
        |name| known(Self::from_name(&name), &name, "an outcome of a call");
    // A kind that a later version added is some other one here.
    CallKind as String: |kind| kind.as_str(),
        |name| Ok(Self::from_name(&name).unwrap_or(Self::Other));
    SessionState as String: |state| state.as_str(),
        |name| known(Self::from_name(&name), &name, "a state of a session");
    Signal as String: |signal| signal.as_str(),
        |name| known(Self::from_name(&name), &name, "a signal");
}
