//! Sending spans to a collector, as the standard `OTEL_*` variables say.

use std::time::Duration;

use serde_json::Value;

use super::{OtlpError, body};

/// Number of spans in one request.
const BATCH: usize = 500;

/// A collector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// Address for traces.
    pub endpoint: String,
    headers: Vec<(String, String)>,
    service: Vec<(String, String)>,
    timeout: Duration,
    /// The variable that forbids sending, if one does.
    pub disabled_by: Option<&'static str>,
}

impl Destination {
    /// Reads the standard variables.
    pub fn from_environment(variable: &dyn Fn(&str) -> Option<String>) -> Result<Self, OtlpError> {
        let get = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let either = |special: &str, general: &str| get(special).or_else(|| get(general));
        let protocol = either(
            "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
            "OTEL_EXPORTER_OTLP_PROTOCOL",
        );
        if let Some(value) = protocol.filter(|it| it == "grpc") {
            return Err(OtlpError::Variable {
                name: "OTEL_EXPORTER_OTLP_PROTOCOL",
                value,
                wanted: "http/json, the only protocol spoken here",
            });
        }
        let endpoint = get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT").unwrap_or_else(|| {
            let base = get("OTEL_EXPORTER_OTLP_ENDPOINT");
            let base = base.unwrap_or_else(|| "http://localhost:4318".to_owned());
            format!("{}/v1/traces", base.trim_end_matches('/'))
        });
        let timeout = either(
            "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT",
            "OTEL_EXPORTER_OTLP_TIMEOUT",
        );
        let timeout = match timeout {
            None => 10_000,
            Some(value) => value.trim().parse().map_err(|_| OtlpError::Variable {
                name: "OTEL_EXPORTER_OTLP_TIMEOUT",
                value,
                wanted: "a number of milliseconds",
            })?,
        };
        let headers = either(
            "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
            "OTEL_EXPORTER_OTLP_HEADERS",
        );
        let mut service = pairs(&get("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default());
        let name = get("OTEL_SERVICE_NAME");
        if name.is_some() || !service.iter().any(|(key, _)| key == "service.name") {
            service.retain(|(key, _)| key != "service.name");
            let name = name.unwrap_or_else(|| "flamestack".to_owned());
            service.insert(0, ("service.name".to_owned(), name));
        }
        Ok(Self {
            endpoint,
            headers: pairs(&headers.unwrap_or_default()),
            service,
            timeout: Duration::from_millis(timeout),
            disabled_by: [
                ("OTEL_SDK_DISABLED", "true"),
                ("OTEL_TRACES_EXPORTER", "none"),
            ]
            .into_iter()
            .find(|(name, off)| get(name).is_some_and(|it| it.trim().eq_ignore_ascii_case(off)))
            .map(|(name, _)| name),
        })
    }

    /// Sends spans, in batches. Returns the number of them; none if a variable forbids it.
    pub fn send(&self, spans: &[Value]) -> Result<usize, OtlpError> {
        if self.disabled_by.is_some() {
            return Ok(0);
        }
        let agent = ureq::Agent::config_builder()
            .timeout_global(Some(self.timeout))
            .http_status_as_error(false)
            .build()
            .new_agent();
        for batch in spans.chunks(BATCH) {
            let mut request = agent
                .post(&self.endpoint)
                .header("content-type", "application/json");
            for (name, value) in &self.headers {
                request = request.header(name, value);
            }
            let refused = |problem: String| OtlpError::Refused {
                endpoint: self.endpoint.clone(),
                problem,
            };
            let answer = request.send(body(&self.service, batch).to_string());
            let mut answer = answer.map_err(|error| refused(error.to_string()))?;
            if !answer.status().is_success() {
                return Err(refused(format!("it answered {}", answer.status())));
            }
            let answer = answer.body_mut().read_to_string().unwrap_or_default();
            if let Some(problem) = rejected(&answer) {
                return Err(refused(problem));
            }
        }
        Ok(spans.len())
    }
}

/// Returns the problem that a collector names in an answer of success, if it did not keep all spans.
fn rejected(answer: &str) -> Option<String> {
    let answer: Value = serde_json::from_str(answer).ok()?;
    let partial = answer.get("partialSuccess")?;
    // In JSON, numbers of 64 bits are strings; some collectors send numbers.
    let count = partial.get("rejectedSpans")?;
    let count = count.as_u64().or_else(|| count.as_str()?.parse().ok())?;
    let reason = partial.get("errorMessage").and_then(Value::as_str);
    let reason = reason.unwrap_or("no reason given");
    (count > 0).then(|| format!("{count} were rejected: {reason}"))
}

/// Parses `key=value,key=value`, with `%` escapes in the values.
fn pairs(text: &str) -> Vec<(String, String)> {
    let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
    pairs
        .map(|(key, value)| (key.trim().to_owned(), unescaped(value.trim())))
        .filter(|(key, _)| !key.is_empty())
        .collect()
}

fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        let code = code.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match (first, code) {
            (b'%', Some(code)) => {
                bytes.push(code);
                rest = after.get(2..).unwrap_or_default();
            }
            (byte, _) => {
                bytes.push(*byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(variables: &[(&str, &str)]) -> Result<Destination, OtlpError> {
        let variables: Vec<(String, String)> = variables
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect();
        Destination::from_environment(&move |name| {
            let found = variables.iter().find(|(key, _)| key == name);
            found.map(|(_, value)| value.clone())
        })
    }

    #[test]
    fn the_standard_variables_say_where_to() {
        let plain = from(&[]).unwrap();
        assert_eq!(plain.endpoint, "http://localhost:4318/v1/traces");
        assert_eq!(plain.service, pairs("service.name=flamestack"));
        let set = from(&[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "https://collector/otel/"),
            (
                "OTEL_EXPORTER_OTLP_HEADERS",
                "authorization=Basic%20abc,x=y",
            ),
            ("OTEL_SERVICE_NAME", "shop"),
            ("OTEL_RESOURCE_ATTRIBUTES", "service.name=no,team=a"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "300"),
        ])
        .unwrap();
        assert_eq!(set.endpoint, "https://collector/otel/v1/traces");
        assert_eq!(set.headers, pairs("authorization=Basic abc,x=y"));
        assert_eq!(set.service, pairs("service.name=shop,team=a"));
        assert_eq!(set.timeout, Duration::from_millis(300));
        assert!(from(&[("OTEL_EXPORTER_OTLP_TIMEOUT", "soon")]).is_err());
        assert!(from(&[("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]).is_err());
    }

    #[test]
    fn a_variable_can_forbid_sending() {
        for (name, value) in [
            ("OTEL_SDK_DISABLED", "true"),
            ("OTEL_TRACES_EXPORTER", "none"),
        ] {
            let closed = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1");
            let off = from(&[(name, value), closed]).unwrap();
            assert_eq!(off.disabled_by, Some(name));
            assert_eq!(off.send(&[Value::Null]).unwrap(), 0);
        }
        let on = from(&[("OTEL_SDK_DISABLED", "false")]).unwrap();
        assert_eq!(on.disabled_by, None);
    }

    #[test]
    fn spans_that_a_collector_rejects_are_reported() {
        assert_eq!(rejected("{}"), None);
        assert_eq!(rejected(""), None);
        assert_eq!(rejected(r#"{"partialSuccess":{}}"#), None);
        assert_eq!(
            rejected(r#"{"partialSuccess":{"rejectedSpans":"0"}}"#),
            None
        );
        let some = r#"{"partialSuccess":{"rejectedSpans":"2","errorMessage":"too old"}}"#;
        assert_eq!(rejected(some).unwrap(), "2 were rejected: too old");
    }
}
