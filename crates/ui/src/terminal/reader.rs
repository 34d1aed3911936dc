//! The thread that reads: it owns the view model and answers questions about it.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use flamestack_core::FrameId;
use flamestack_engine::context::ContextTarget;
use flamestack_engine::hints::Voice;
use flamestack_engine::views::canvas::wrapped;
use flamestack_engine::views::work::{
    FlameGraph, Measure, Opened, SentView, Work, WorkRow, WorkScope, sections,
};
use flamestack_engine::views::{Canvas, counted, details, grouped};
use flamestack_engine::{Engine, EngineError};

/// Time between two looks at the journal.
const LOOK: Duration = Duration::from_millis(250);

/// A question of the view.
#[derive(Clone, Debug)]
pub enum Question {
    /// The rows of the open branches.
    Rows(Opened),
    /// A frame, in lines of a width.
    Detail(FrameId, usize),
    /// The context of a frame, or of the session that works on it, in lines of a width.
    Context(FrameId, usize),
    /// A flame graph of that many cells.
    Graph(Measure, u64),
}

/// An answer to the view.
#[derive(Clone, Debug)]
pub enum ViewAnswer {
    /// The number of events that were read so far.
    Loading(i64),
    /// Something is new.
    Changed,
    /// Rows, and a line about the project.
    Rows {
        /// The rows.
        rows: Vec<WorkRow>,
        /// The line.
        summary: String,
        /// True if the amounts are known; until then they are zero, and not shown.
        is_counted: bool,
    },
    /// Lines about a frame.
    Text(Vec<String>),
    /// A flame graph.
    Graph(FlameGraph),
    /// The reason why there is no answer.
    Problem(String),
}

/// Reads the journal and answers.
pub struct Reader {
    engine: Arc<Engine>,
    tell: Sender<ViewAnswer>,
    work: Work,
}

impl Reader {
    /// Creates a reader that tells its answers to `tell`.
    pub fn new(engine: Arc<Engine>, tell: Sender<ViewAnswer>) -> Self {
        Self {
            engine,
            tell,
            work: Work::default(),
        }
    }

    /// Answers questions until no view is left to ask them.
    pub fn run(mut self, questions: &Receiver<Question>) {
        let mut is_ready = false;
        let mut waiting: Vec<Question> = Vec::new();
        loop {
            let before = self.work.position();
            match self.read_on() {
                Ok(whole) => {
                    let is_new = whole && self.work.position() != before;
                    is_ready |= whole;
                    let news = if is_ready {
                        is_new.then_some(ViewAnswer::Changed)
                    } else {
                        Some(ViewAnswer::Loading(self.work.position().0))
                    };
                    if news.is_some_and(|news| self.tell.send(news).is_err()) {
                        return;
                    }
                }
                Err(error) => self.tell_problem(&error),
            }
            let patience = if is_ready { LOOK } else { Duration::ZERO };
            match questions.recv_timeout(patience) {
                Ok(question) => waiting.push(question),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            waiting.extend(questions.try_iter());
            for question in newest(std::mem::take(&mut waiting)) {
                // Before the whole journal was read there may be frames, but no amounts to draw.
                let is_early = matches!(question, Question::Graph(..)) || self.work.frames() == 0;
                if is_early && !is_ready {
                    waiting.push(question);
                } else {
                    self.answer(&question);
                }
            }
        }
    }

    fn read_on(&mut self) -> Result<bool, EngineError> {
        self.engine.read(|reading| self.work.catch_up(reading))
    }

    fn tell_problem(&self, error: &EngineError) {
        // A view that is gone needs no answer; the next receive ends this thread.
        drop(self.tell.send(ViewAnswer::Problem(error.to_string())));
    }

    /// Answers one question.
    pub fn answer(&self, question: &Question) {
        match self.answered(question) {
            Ok(answer) => drop(self.tell.send(answer)),
            Err(error) => self.tell_problem(&error),
        }
    }

    fn answered(&self, question: &Question) -> Result<ViewAnswer, EngineError> {
        Ok(match question {
            Question::Rows(opened) => {
                let rows = self.work.rows(opened);
                let measures = [Measure::Tokens, Measure::Cost, Measure::Saved];
                let amounts = measures.map(|it| (it, rows.total.of(it)));
                let amounts = amounts.iter().filter(|(_, amount)| *amount > 0);
                let mut summary = vec![counted(rows.frames, "frame", "frames")];
                summary.extend(amounts.map(|(measure, amount)| measure.words(*amount)));
                ViewAnswer::Rows {
                    rows: rows.rows,
                    summary: summary.join(", "),
                    is_counted: rows.is_counted,
                }
            }
            Question::Detail(frame, width) => {
                let details = self
                    .engine
                    .read(|reading| details::gather(reading, frame))?;
                let canvas = Canvas {
                    width: Some((*width).max(20)),
                    ..Canvas::plain(Voice::Cli)
                };
                let text = details::render(&canvas, &details);
                ViewAnswer::Text(
                    text.replace('\u{a0}', " ")
                        .lines()
                        .map(str::to_owned)
                        .collect(),
                )
            }
            Question::Context(frame, width) => {
                let lines = self.context(frame)?;
                ViewAnswer::Text(lines.iter().flat_map(|it| broken(it, *width)).collect())
            }
            Question::Graph(measure, cells) => {
                ViewAnswer::Graph(self.work.graph(&WorkScope::Project, *measure, Some(*cells)))
            }
        })
    }

    fn context(&self, frame: &FrameId) -> Result<Vec<String>, EngineError> {
        let session = self.work.place(frame).and_then(|it| it.active_in.first());
        let target = match session {
            Some(session) => ContextTarget::Session(session.clone()),
            None => ContextTarget::Frame(*frame),
        };
        Ok(context_lines(&sections(&self.engine, &target)?))
    }
}

/// Keeps the newest question of each kind: the view has moved on from the others.
fn newest(questions: Vec<Question>) -> Vec<Question> {
    let mut kept: Vec<Question> = Vec::new();
    for question in questions {
        kept.retain(|it| std::mem::discriminant(it) != std::mem::discriminant(&question));
        kept.push(question);
    }
    kept
}

/// Breaks a line at a width. What follows is indented like it.
fn broken(line: &str, width: usize) -> Vec<String> {
    let text = line.trim_start();
    let indent = line.get(..line.len() - text.len()).unwrap_or_default();
    let lines = wrapped(indent, indent, text, width.max(20));
    if lines.is_empty() {
        return vec![String::new()];
    }
    lines.lines().map(str::to_owned).collect()
}

fn context_lines(view: &SentView) -> Vec<String> {
    let mut lines = Vec::new();
    let mut part = |title: String, sections: &[flamestack_engine::views::work::SectionView]| {
        lines.push(title);
        if sections.is_empty() {
            lines.push("  nothing yet".to_owned());
        }
        for section in sections {
            lines.push(format!(
                "  {} ({} tokens)",
                section.kind,
                grouped(section.tokens)
            ));
            lines.extend(section.text.lines().map(|line| format!("    {line}")));
            for out in &section.left_out {
                let count = grouped(out.count);
                let words = format!(
                    "left out: {count} {} ({}), see {}",
                    out.what, out.why, out.call
                );
                lines.push(format!("    {words}"));
            }
        }
        lines.push(String::new());
    };
    if let Some(session) = &view.session {
        part(format!("Sent to {session}"), &view.sent);
    }
    let (tokens, budget) = (grouped(view.tokens), grouped(view.budget));
    part(
        format!("Would be sent now: {tokens} of {budget} tokens"),
        &view.now,
    );
    for one in &view.compactions {
        let lost = one.lost.len() as u64 + one.more_lost;
        lines.push(format!(
            "Compaction, {}: {} kept, {} lost",
            one.kind,
            counted(one.survived, "fact", "facts"),
            grouped(lost)
        ));
        let named = one.lost.iter();
        lines.extend(named.map(|(kind, text)| format!("  lost {kind}: {text}")));
    }
    lines
}
