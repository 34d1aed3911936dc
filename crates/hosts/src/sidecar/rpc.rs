//! JSON-RPC 2.0, one object per line.

use std::io::{self, BufRead, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use flamestack_core::text::{QUOTE_LIMIT, shortened};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::line_input::read_line;

/// Maximum length of a line, in bytes; longer ones are skipped to their end.
pub(super) const MAX_LINE: usize = 64 * 1024 * 1024;

/// A request or a notification. Its parameters are read by the thread that handles it, so that a
/// long list of messages keeps no other session waiting.
#[derive(Debug)]
pub(super) struct RequestLine {
    /// Absent in a notification, which is never answered.
    pub(super) id: Option<Value>,
    pub(super) method: String,
    /// The session that the parameters name.
    pub(super) session: Option<String>,
    text: Vec<u8>,
}

/// The reason why a request failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum RpcError {
    #[error("the line is not JSON: {0}")]
    NotJson(String),
    #[error("the line is longer than {} MB and was skipped", MAX_LINE / (1024 * 1024))]
    TooLong,
    #[error("the line is not a request: {0}")]
    NotARequest(String),
    #[error("there is no method `{0}`")]
    UnknownMethod(String),
    #[error("the parameters of `{method}` are wrong: {problem}")]
    BadParams { method: String, problem: String },
    #[error("{waiting} requests are waiting already: read the answers, then ask again")]
    Busy { waiting: usize },
    #[error("{0}")]
    Failed(String),
}

impl RpcError {
    fn code(&self) -> i32 {
        match self {
            Self::NotJson(_) => -32700,
            Self::TooLong | Self::NotARequest(_) => -32600,
            Self::UnknownMethod(_) => -32601,
            Self::BadParams { .. } => -32602,
            Self::Failed(_) => -32000,
            Self::Busy { .. } => -32001,
        }
    }
}

/// One line of the input.
pub(super) enum Line {
    Request(RequestLine),
    /// A line that cannot be served, with the id to answer to.
    Bad(Option<Value>, RpcError),
    End,
}

/// Reads lines; nothing in them makes it fail.
pub(super) struct LineReader<R> {
    input: R,
    buffer: Vec<u8>,
}

impl<R: BufRead> LineReader<R> {
    pub(super) fn new(input: R) -> Self {
        Self {
            input,
            buffer: Vec::new(),
        }
    }

    pub(super) fn next(&mut self) -> io::Result<Line> {
        loop {
            let line = read_line(&mut self.input, MAX_LINE, &mut self.buffer)?;
            // A last line without an end was cut off; its writer is gone.
            if !line.is_ended {
                return Ok(Line::End);
            }
            if line.is_skipped {
                return Ok(Line::Bad(None, RpcError::TooLong));
            }
            if !self.buffer.trim_ascii().is_empty() {
                return Ok(parse(std::mem::take(&mut self.buffer)));
            }
        }
    }
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(default)]
    jsonrpc: Option<String>,
    #[serde(default, deserialize_with = "present")]
    id: Option<Value>,
    #[serde(default)]
    method: Option<String>,
    #[serde(default, borrow)]
    params: Option<&'a RawValue>,
}

/// The one parameter that decides which queue a request goes to.
#[derive(Deserialize)]
struct SessionParam {
    session: Option<String>,
}

/// Keeps an `id` of null apart from a missing one, as JSON-RPC does.
fn present<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Deserialize::deserialize(from).map(Some)
}

fn parse(text: Vec<u8>) -> Line {
    let envelope: Envelope<'_> = match serde_json::from_slice(&text) {
        Ok(envelope) => envelope,
        Err(error) if error.is_data() => {
            let problem = shortened(&error.to_string(), 2 * QUOTE_LIMIT).into_owned();
            return Line::Bad(None, RpcError::NotARequest(problem));
        }
        Err(error) => return Line::Bad(None, RpcError::NotJson(error.to_string())),
    };
    let bad = |id, problem: &str| Line::Bad(id, RpcError::NotARequest(problem.to_owned()));
    if envelope.jsonrpc.as_deref() != Some("2.0") {
        return bad(envelope.id, "`jsonrpc` is not \"2.0\"");
    }
    let Some(method) = envelope.method else {
        return bad(envelope.id, "`method` is missing");
    };
    // Parameters without a readable session are refused when all of them are read.
    let params = envelope.params.map(RawValue::get);
    let params: Option<SessionParam> = params.and_then(|text| serde_json::from_str(text).ok());
    Line::Request(RequestLine {
        id: envelope.id,
        // No method has a longer name, and errors repeat it.
        method: method.chars().take(80).collect(),
        session: params.and_then(|params| params.session),
        text,
    })
}

impl RequestLine {
    /// Returns the length of the line, in bytes.
    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    /// Reads the whole request, or says what is wrong with it and where.
    pub(super) fn read<T: DeserializeOwned>(&self) -> Result<T, RpcError> {
        if let Ok(request) = serde_json::from_slice(&self.text) {
            return Ok(request);
        }
        // Once more, to find the place: keeping track of it while reading costs time.
        let mut deserializer = serde_json::Deserializer::from_slice(&self.text);
        serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
            let path = error.path().to_string();
            let place = path.strip_prefix("params").unwrap_or(&path);
            match place.trim_start_matches('.') {
                "method" => RpcError::UnknownMethod(self.method.chars().take(80).collect()),
                "" => self.bad_params(&error.inner().to_string()),
                place => self.bad_params(&format!("at `{place}`: {}", error.inner())),
            }
        })
    }

    /// Makes the error for wrong parameters.
    pub(super) fn bad_params(&self, problem: &str) -> RpcError {
        RpcError::BadParams {
            method: self.method.chars().take(80).collect(),
            problem: shortened(problem, 2 * QUOTE_LIMIT).into_owned(),
        }
    }
}

/// Writes answers, a whole line at a time.
pub(super) struct Responder<W> {
    output: Mutex<W>,
    /// True once an answer could not be written: the host is gone.
    is_unread: AtomicBool,
}

#[derive(Serialize)]
struct Response<'a, T> {
    jsonrpc: &'static str,
    id: &'a Value,
    #[serde(flatten)]
    outcome: Outcome<'a, T>,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Outcome<'a, T> {
    Result(&'a T),
    Error { code: i32, message: String },
}

impl<W: Write> Responder<W> {
    pub(super) fn new(output: W) -> Self {
        Self {
            output: Mutex::new(output),
            is_unread: AtomicBool::new(false),
        }
    }

    /// Returns true if the host is gone, so that no answer is read any more.
    pub(super) fn is_unread(&self) -> bool {
        self.is_unread.load(Ordering::Relaxed)
    }

    /// Answers a request; a notification has no id and gets no answer.
    pub(super) fn answer<T, E>(&self, id: Option<&Value>, answer: Result<T, E>)
    where
        T: Serialize,
        E: Into<RpcError>,
    {
        match answer {
            Ok(result) => self.succeed(id, &result),
            Err(error) => self.fail(id, &error.into()),
        }
    }

    /// Answers a request that succeeded.
    pub(super) fn succeed(&self, id: Option<&Value>, result: &impl Serialize) {
        if let Some(id) = id {
            self.write(id, Outcome::Result(result));
        }
    }

    /// Answers a request that failed.
    pub(super) fn fail(&self, id: Option<&Value>, error: &RpcError) {
        if let Some(id) = id {
            self.refuse(id, error);
        }
    }

    /// Answers with an error; `id` is null for a line whose id could not be read.
    pub(super) fn refuse(&self, id: &Value, error: &RpcError) {
        let outcome = Outcome::Error {
            code: error.code(),
            message: error.to_string(),
        };
        self.write::<()>(id, outcome);
    }

    /// Sends a notification, which has no answer.
    pub(super) fn notify(&self, method: &str, params: &impl Serialize) {
        #[derive(Serialize)]
        struct Notification<'a, T> {
            jsonrpc: &'static str,
            method: &'a str,
            params: &'a T,
        }
        self.send(&Notification {
            jsonrpc: "2.0",
            method,
            params,
        });
    }

    fn write<T: Serialize>(&self, id: &Value, outcome: Outcome<'_, T>) {
        self.send(&Response {
            jsonrpc: "2.0",
            id,
            outcome,
        });
    }

    fn send(&self, message: &impl Serialize) {
        let written = serde_json::to_vec(message).map_err(io::Error::from);
        let written = written.and_then(|mut line| {
            line.push(b'\n');
            let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
            output.write_all(&line)?;
            output.flush()
        });
        // The host is gone; the end of the input will follow.
        if let Err(error) = written {
            self.is_unread.store(true, Ordering::Relaxed);
            tracing::debug!("answer not delivered: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(input: &[u8]) -> Vec<String> {
        let mut lines = LineReader::new(input);
        let mut read = Vec::new();
        loop {
            match lines.next().unwrap() {
                Line::End => return read,
                Line::Request(line) => read.push(format!("{} {:?}", line.method, line.id)),
                Line::Bad(id, error) => read.push(format!("{} {error} {id:?}", error.code())),
            }
        }
    }

    #[test]
    fn good_lines_are_found_between_bad_ones() {
        let input = b"\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}\ngarbage\n\xff\xfe\n[]\n{}\n\
            {\"jsonrpc\":\"2.0\",\"id\":7}\n{\"jsonrpc\":\"2.0\",\"method\":\"b\",\"params\":[1]}\r\n{\"cut";
        insta::assert_snapshot!(read(input).join("\n"), @r#"
        a Some(Number(1))
        -32700 the line is not JSON: expected value at line 1 column 1 None
        -32700 the line is not JSON: expected value at line 1 column 1 None
        -32600 the line is not a request: `jsonrpc` is not "2.0" None
        -32600 the line is not a request: `jsonrpc` is not "2.0" None
        -32600 the line is not a request: `method` is missing Some(Number(7))
        b None
        "#);
    }

    #[test]
    fn a_line_that_is_too_long_is_skipped_to_its_end() {
        let mut input = vec![b'x'; MAX_LINE + 1];
        input.extend(b"\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}\n");
        assert_eq!(
            read(&input),
            [
                "-32600 the line is longer than 64 MB and was skipped None",
                "a Some(Number(1))"
            ]
        );
    }

    #[test]
    fn wrong_parameters_are_named_with_their_place() {
        #[derive(Debug, Deserialize)]
        struct Wanted {
            #[expect(dead_code, reason = "only its type matters")]
            list: Vec<u8>,
        }
        #[derive(Debug, Deserialize)]
        #[serde(tag = "method", content = "params", rename_all = "lowercase")]
        enum Method {
            M(#[expect(dead_code, reason = "only its type matters")] Wanted),
        }
        let error = |method: &str, params: &str| {
            let line = format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#);
            match parse(line.into_bytes()) {
                Line::Request(line) => line.read::<Method>().unwrap_err().to_string(),
                Line::Bad(..) | Line::End => panic!("a request"),
            }
        };
        let place = error("m", r#"{"list":[1,"x"]}"#);
        assert!(place.contains("`list[1]`"), "{place}");
        assert!(error("m", "null").starts_with("the parameters of `m` are wrong"));
        assert_eq!(error("n", "{}"), "there is no method `n`");
    }
}
