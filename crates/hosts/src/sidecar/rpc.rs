//! JSON-RPC 2.0, one object a line.

use std::io::{self, BufRead, Write};
use std::sync::{Mutex, OnceLock, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::direct::{DirectAnswers, Questions};

/// The longest line that is read; longer ones are skipped to their end.
pub(super) const LONGEST_LINE: usize = 64 * 1024 * 1024;

/// A line that asks for something.
#[derive(Debug)]
pub(super) struct Asked {
    /// Whom to answer; a notification names nobody.
    pub(super) id: Option<Value>,
    pub(super) method: String,
    /// Kept as text, so that a large list of messages is read once, by whoever needs it.
    pub(super) params: Option<Box<RawValue>>,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Fault {
    #[error("the line is not JSON: {0}")]
    NotJson(String),
    #[error("the line is longer than {} MB and was skipped", LONGEST_LINE / (1024 * 1024))]
    TooLong,
    #[error("the line is no request: {0}")]
    NoRequest(String),
    #[error("there is no method `{0}`")]
    NoMethod(String),
    #[error("the parameters of `{method}` are wrong: {problem}")]
    BadParams { method: String, problem: String },
    #[error("{0}")]
    Failed(String),
}

impl Fault {
    fn code(&self) -> i32 {
        match self {
            Self::NotJson(_) => -32700,
            Self::TooLong | Self::NoRequest(_) => -32600,
            Self::NoMethod(_) => -32601,
            Self::BadParams { .. } => -32602,
            Self::Failed(_) => -32000,
        }
    }
}

/// What comes in.
pub(super) enum Line {
    Asked(Asked),
    /// Something that cannot be served, and whom to tell.
    Bad(Option<Value>, Fault),
    End,
}

/// Reads lines and never fails on what is in them.
pub(super) struct Lines<R> {
    input: Input<R>,
    buffer: Vec<u8>,
}

enum Input<R> {
    Standard(R),
    Direct(Questions),
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(input: R) -> Self {
        Self {
            input: Input::Standard(input),
            buffer: Vec::new(),
        }
    }

    /// Whether they come by a direct line.
    pub(super) fn are_direct(&self) -> bool {
        matches!(self.input, Input::Direct(_))
    }

    /// Reads on from a direct line; what was read until now, if that was not one.
    pub(super) fn turn_to(&mut self, questions: Questions) -> Option<R> {
        match std::mem::replace(&mut self.input, Input::Direct(questions)) {
            Input::Standard(input) => Some(input),
            Input::Direct(_) => None,
        }
    }

    pub(super) fn next(&mut self) -> io::Result<Line> {
        loop {
            match self.fill()? {
                Filled::End => return Ok(Line::End),
                Filled::TooLong => return Ok(Line::Bad(None, Fault::TooLong)),
                Filled::Line if self.buffer.trim_ascii().is_empty() => match &self.input {
                    Input::Direct(questions) if questions.ended() => return Ok(Line::End),
                    _ => {}
                },
                Filled::Line => return Ok(parse(&self.buffer)),
            }
        }
    }

    fn fill(&mut self) -> io::Result<Filled> {
        let input: &mut dyn BufRead = match &mut self.input {
            Input::Standard(input) => input,
            Input::Direct(questions) => &mut questions.pipe,
        };
        self.buffer.clear();
        let mut skipped = false;
        loop {
            let chunk = match input.fill_buf() {
                Ok(chunk) => chunk,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            // A last line without an end was cut off; whoever wrote it is gone.
            if chunk.is_empty() {
                return Ok(Filled::End);
            }
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let taken = end.unwrap_or(chunk.len());
            if self.buffer.len() + taken > LONGEST_LINE {
                skipped = true;
                self.buffer = Vec::new();
            }
            if !skipped {
                self.buffer.extend(chunk.iter().take(taken));
            }
            input.consume(end.map_or(taken, |end| end + 1));
            match (end, skipped) {
                (Some(_), true) => return Ok(Filled::TooLong),
                (Some(_), false) => return Ok(Filled::Line),
                (None, _) => {}
            }
        }
    }
}

enum Filled {
    Line,
    TooLong,
    End,
}

#[derive(serde::Deserialize)]
struct Envelope {
    #[serde(default)]
    jsonrpc: Option<String>,
    #[serde(default, deserialize_with = "present")]
    id: Option<Value>,
    #[serde(default)]
    method: Option<String>,
    #[serde(default)]
    params: Option<Box<RawValue>>,
}

/// An `id` of null is still an id: JSON-RPC tells it from none at all.
fn present<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    serde::Deserialize::deserialize(from).map(Some)
}

fn parse(line: &[u8]) -> Line {
    let envelope: Envelope = match serde_json::from_slice(line) {
        Ok(envelope) => envelope,
        Err(error) if error.is_data() => {
            return Line::Bad(None, Fault::NoRequest(error.to_string()));
        }
        Err(error) => return Line::Bad(None, Fault::NotJson(error.to_string())),
    };
    if envelope.jsonrpc.as_deref() != Some("2.0") {
        let problem = "`jsonrpc` is not \"2.0\"".to_owned();
        return Line::Bad(envelope.id, Fault::NoRequest(problem));
    }
    match envelope.method {
        Some(method) => Line::Asked(Asked {
            id: envelope.id,
            method,
            params: envelope.params,
        }),
        None => Line::Bad(
            envelope.id,
            Fault::NoRequest("`method` is missing".to_owned()),
        ),
    }
}

/// The parameters of a method as its own type, or what is wrong with them and where.
pub(super) fn params<T: DeserializeOwned>(asked: &Asked) -> Result<T, Fault> {
    let text = asked.params.as_deref().map_or("{}", RawValue::get);
    if let Ok(params) = serde_json::from_str(text) {
        return Ok(params);
    }
    // Once more, to see where it is wrong: keeping track of that costs.
    let mut deserializer = serde_json::Deserializer::from_str(text);
    serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let place = error.path().to_string();
        let problem = match place.as_str() {
            "." => error.inner().to_string(),
            _ => format!("at `{place}`: {}", error.inner()),
        };
        Fault::BadParams {
            method: asked.method.clone(),
            problem,
        }
    })
}

/// Where answers go, a whole line at a time.
pub(super) struct Answers<W> {
    output: Mutex<W>,
    direct: OnceLock<DirectAnswers>,
}

impl<W: Write> Answers<W> {
    pub(super) fn new(output: W) -> Self {
        Self {
            output: Mutex::new(output),
            direct: OnceLock::new(),
        }
    }

    /// From now on a shim may be waiting at its end of a direct line.
    pub(super) fn offer_at(&self, direct: DirectAnswers) {
        // There is one line for a process; a second one is never taken up.
        let _ = self.direct.set(direct);
    }

    /// Answers a request; a notification gets no answer, whatever came of it.
    pub(super) fn answer<T: Serialize>(&self, id: Option<&Value>, answer: &Result<T, Fault>) {
        let Some(id) = id else {
            return;
        };
        match answer {
            Ok(result) => self.write(&line(id, result)),
            Err(fault) => self.refuse(id, fault),
        }
    }

    /// Answers a request for which a shim may wait at the direct line.
    pub(super) fn answer_directly<T: Serialize>(
        &self,
        id: Option<&Value>,
        answer: &Result<T, Fault>,
    ) {
        let (Some(id), Ok(result)) = (id, answer) else {
            return self.answer(id, answer);
        };
        let line = line(id, result);
        if let Some(direct) = self.direct.get() {
            direct.offer(&line);
        }
        self.write(&line);
    }

    /// Says what is wrong with a line that may not even have an id.
    pub(super) fn refuse(&self, id: &Value, fault: &Fault) {
        let error = json!({ "code": fault.code(), "message": fault.to_string() });
        self.write(&format!(
            "{}\n",
            json!({ "jsonrpc": "2.0", "id": id, "error": error })
        ));
    }

    fn write(&self, line: &str) {
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        let written = output
            .write_all(line.as_bytes())
            .and_then(|()| output.flush());
        // Whoever asked is gone; the end of the input will follow.
        if let Err(error) = written {
            tracing::debug!("answer not delivered: {error}");
        }
    }
}

fn line<T: Serialize>(id: &Value, result: &T) -> String {
    format!(
        "{}\n",
        json!({ "jsonrpc": "2.0", "id": id, "result": result })
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(input: &[u8]) -> Vec<String> {
        let mut lines = Lines::new(input);
        let mut read = Vec::new();
        loop {
            match lines.next().unwrap() {
                Line::End => return read,
                Line::Asked(asked) => read.push(format!("{} {:?}", asked.method, asked.id)),
                Line::Bad(id, fault) => read.push(format!("{} {fault} {id:?}", fault.code())),
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
        -32600 the line is no request: `jsonrpc` is not "2.0" None
        -32600 the line is no request: `jsonrpc` is not "2.0" None
        -32600 the line is no request: `method` is missing Some(Number(7))
        b None
        "#);
    }

    #[test]
    fn a_line_that_is_too_long_is_skipped_to_its_end() {
        let mut input = vec![b'x'; LONGEST_LINE + 1];
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
        #[derive(Debug, serde::Deserialize)]
        struct Wanted {
            #[expect(dead_code, reason = "only its type matters")]
            list: Vec<u8>,
        }
        let asked = |params: &str| Asked {
            id: None,
            method: "m".to_owned(),
            params: Some(RawValue::from_string(params.to_owned()).unwrap()),
        };
        let fault = params::<Wanted>(&asked(r#"{"list":[1,"x"]}"#)).unwrap_err();
        assert!(fault.to_string().contains("`list[1]`"), "{fault}");
        assert!(params::<Wanted>(&asked("null")).is_err());
    }
}
