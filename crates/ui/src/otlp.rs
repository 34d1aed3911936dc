//! Export to observability tools: finished frames, sessions and model calls as OTLP spans in JSON.
//!
//! Spans come from the journal, so their ids do too: exporting twice sends the same spans again, and a
//! backend keeps one of each. Names follow OpenTelemetry's semantic conventions for generative AI as of
//! [`CONVENTIONS`]. Titles, results and other texts are sent only on request.

mod send;
mod spans;

use flamestack_engine::EngineError;
use serde_json::Value;

pub use self::send::Destination;
pub use self::spans::{FinishedSpans, spans};

/// Version of OpenTelemetry's semantic conventions whose names for generative AI are used.
pub const CONVENTIONS: &str = "1.37.0";

/// Error of an export.
#[derive(Debug, thiserror::Error)]
pub enum OtlpError {
    /// The journal could not be read.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// An environment variable has a value that cannot be used.
    #[error("{name} is `{value}`, which is not {wanted}")]
    Variable {
        /// The variable.
        name: &'static str,
        /// Its value.
        value: String,
        /// The expected kind of value.
        wanted: &'static str,
    },
    /// The collector did not take the spans.
    #[error("{endpoint} did not take the spans: {problem}")]
    Refused {
        /// The collector's address.
        endpoint: String,
        /// Its answer.
        problem: String,
    },
}

/// Makes the body of one request.
fn body(service: &[(String, String)], spans: &[Value]) -> Value {
    let attributes: Vec<Value> = service
        .iter()
        .map(|(key, value)| spans::text(key, value))
        .collect();
    serde_json::json!({
        "resourceSpans": [{
            "resource": { "attributes": attributes },
            "scopeSpans": [{
                "scope": { "name": "flamestack", "version": env!("CARGO_PKG_VERSION") },
                "schemaUrl": format!("https://opentelemetry.io/schemas/{CONVENTIONS}"),
                "spans": spans,
            }],
        }],
    })
}
