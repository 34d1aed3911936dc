//! Answers to the page: the view model as JSON.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};

use axum::Json;
use axum::extract::{Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use flamestack_core::{FrameId, SessionRef};
use flamestack_engine::EngineError;
use flamestack_engine::brief::{BriefRequest, gather_workflows};
use flamestack_engine::context::ContextTarget;
use flamestack_engine::hints::Voice;
use flamestack_engine::recall::Patience;
use flamestack_engine::views::printable;
use flamestack_engine::views::work::{self, Look, Measure, Opened, Work, WorkScope};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Site;
use super::live::News;
use crate::picture::{Order, Picture};

/// Boxes narrower than this part of the picture are joined.
const FINEST: u64 = 2_000;
/// Maximum number of hits.
const HITS: usize = 40;
/// Maximum number of branches that a page names.
const BRANCHES: usize = 5_000;

/// A request that was understood and refused, or that failed.
pub(super) struct Refused {
    message: String,
    hint: Option<String>,
}

impl From<EngineError> for Refused {
    fn from(error: EngineError) -> Self {
        Self {
            message: error.to_string(),
            hint: error.hint(Voice::Cli),
        }
    }
}

impl From<flamestack_store::StoreError> for Refused {
    fn from(error: flamestack_store::StoreError) -> Self {
        EngineError::from(error).into()
    }
}

impl Refused {
    pub(super) fn new(message: &str) -> Self {
        Self {
            message: message.to_owned(),
            hint: None,
        }
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let body = Json(json!({ "error": self.message, "hint": self.hint }));
        (StatusCode::UNPROCESSABLE_ENTITY, body).into_response()
    }
}

/// Sets a flag once the request is over: its answer is there, or the browser has gone away.
struct Over(Arc<AtomicBool>);

impl Drop for Over {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Answers in a thread that may wait for the disk.
pub(super) async fn answered<T: IntoResponse + Send + 'static>(
    site: Arc<Site>,
    answer: impl FnOnce(&Site) -> Result<T, Refused> + Send + 'static,
) -> Response {
    answered_while_wanted(site, move |site, _| answer(site)).await
}

/// Answers in a thread that may wait for the disk. `answer` gets a flag that is set once the browser
/// has gone away.
async fn answered_while_wanted<T: IntoResponse + Send + 'static>(
    site: Arc<Site>,
    answer: impl FnOnce(&Site, &AtomicBool) -> Result<T, Refused> + Send + 'static,
) -> Response {
    let over = Over(Arc::default());
    let is_over = Arc::clone(&over.0);
    match tokio::task::spawn_blocking(move || answer(&site, &is_over)).await {
        Ok(Ok(answer)) => answer.into_response(),
        Ok(Err(refused)) => refused.into_response(),
        Err(_) => {
            Refused::new("the answer failed; the diagnostics file has the reason").into_response()
        }
    }
}

impl Site {
    /// Lends the work that was read so far.
    pub(super) fn with_work<T>(&self, work: impl FnOnce(&Work) -> T) -> T {
        work(&self.work.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits until the amounts of the work are known, or the journal cannot be read.
    async fn counted(&self) {
        let mut news = self.news.subscribe();
        let is_over = |news: &News| news.is_counted || news.problem.is_some();
        // The sender lives as long as the site.
        drop(news.wait_for(is_over).await);
    }
}

/// The branches that a page shows.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Branches {
    open: Vec<String>,
    closed: Vec<String>,
    more: BTreeMap<String, usize>,
}

impl Branches {
    fn opened(&self) -> Opened {
        let ids = |names: &[String]| -> BTreeSet<FrameId> {
            let ids = names.iter().take(BRANCHES);
            ids.filter_map(|name| name.parse().ok()).collect()
        };
        let more = self.more.iter().take(BRANCHES);
        Opened {
            open: ids(&self.open),
            closed: ids(&self.closed),
            more: more
                .map(|(name, count)| (name.parse().ok(), *count))
                .collect(),
        }
    }
}

pub(super) async fn tree(
    State(site): State<Arc<Site>>,
    Json(branches): Json<Branches>,
) -> Response {
    answered(site, move |site| {
        let rows = site.with_work(|work| work.rows(&branches.opened()));
        let mut value = serde_json::to_value(rows).unwrap_or_default();
        if let Value::Object(fields) = &mut value {
            let project = printable(&site.engine.project().name());
            fields.insert("project".to_owned(), json!(project));
            let is_ready = site.news.borrow().is_ready;
            fields.insert("ready".to_owned(), json!(is_ready));
        }
        Ok(Json(value))
    })
    .await
}

pub(super) async fn sessions(State(site): State<Arc<Site>>) -> Response {
    site.counted().await;
    answered(site, |site| {
        let rows = site
            .engine
            .read(|reading| site.with_work(|work| work.sessions(reading)))?;
        let own = site.options.actor.session.to_string();
        Ok(Json(json!({ "sessions": rows, "own": own })))
    })
    .await
}

/// A session or a frame.
#[derive(Deserialize)]
pub(super) struct Which {
    session: Option<String>,
    frame: Option<String>,
}

impl Which {
    fn session(&self) -> Result<Option<SessionRef>, Refused> {
        let parse = |name: &String| name.parse::<SessionRef>();
        let session = self.session.as_ref().map(parse).transpose();
        session.map_err(|problem| EngineError::from(problem).into())
    }

    fn frame(&self, site: &Site) -> Result<Option<FrameId>, Refused> {
        let frame = self.frame.as_deref();
        Ok(frame
            .map(|name| site.engine.frame_named(name))
            .transpose()?)
    }
}

pub(super) async fn context(State(site): State<Arc<Site>>, Query(which): Query<Which>) -> Response {
    answered(site, move |site| {
        let target = match (which.session()?, which.frame(site)?) {
            (Some(session), _) => ContextTarget::Session(session),
            (None, Some(frame)) => ContextTarget::Frame(frame),
            (None, None) => return Err(Refused::new("name a session or a frame")),
        };
        Ok(Json(work::sections(&site.engine, &target)?))
    })
    .await
}

/// A picture.
#[derive(Deserialize)]
pub(super) struct Wanted {
    by: Option<String>,
    #[serde(flatten)]
    which: Which,
    order: Option<String>,
}

impl Wanted {
    fn scope(&self, site: &Site) -> Result<WorkScope, Refused> {
        Ok(match (self.which.session()?, self.which.frame(site)?) {
            (Some(session), _) => WorkScope::Session(session),
            (None, Some(frame)) => WorkScope::Frame(frame),
            (None, None) => WorkScope::Project,
        })
    }

    fn measure(&self) -> Result<Measure, Refused> {
        let name = self.by.as_deref().unwrap_or("tokens");
        let wrong = "choose tokens, cost, time, messages or saved";
        Measure::from_name(name).ok_or_else(|| Refused::new(wrong))
    }
}

pub(super) async fn graph(State(site): State<Arc<Site>>, Query(wanted): Query<Wanted>) -> Response {
    site.counted().await;
    answered(site, move |site| {
        let (scope, measure) = (wanted.scope(site)?, wanted.measure()?);
        let graph = site.with_work(|work| work.graph(&scope, measure, Some(FINEST)));
        let boxes = graph.boxes.iter().map(|one| {
            json!({
                "frame": one.frame.as_ref().map(FrameId::as_str),
                "title": printable(&one.title),
                "look": one.look.as_str(),
                "claimed": one.marks.is_claimed,
                "dropped": one.marks.is_dropped,
                "count": one.count,
                "level": one.level,
                "from": one.from,
                "width": one.width,
                "own": if one.look == Look::All { 0 } else { one.own },
            })
        });
        Ok(Json(json!({
            "measure": measure.as_str(),
            "total": graph.total,
            "levels": graph.levels,
            "boxes": boxes.collect::<Vec<_>>(),
        })))
    })
    .await
}

pub(super) async fn chart(State(site): State<Arc<Site>>, Query(wanted): Query<Wanted>) -> Response {
    site.counted().await;
    answered(site, move |site| {
        let scope = wanted.scope(site)?;
        let chart = site.with_work(|work| work.chart(&scope, Some(FINEST)));
        let axis = &chart.axis;
        let lanes = chart.lanes.iter().map(|lane| {
            let boxes = lane.boxes.iter().map(|one| {
                let from = axis.place(one.from);
                json!({
                    "frame": one.frame.as_ref().map(FrameId::as_str),
                    "title": printable(&one.title),
                    "look": one.look.as_str(),
                    "claimed": one.marks.is_claimed,
                "dropped": one.marks.is_dropped,
                    "level": one.level,
                    "from": from,
                    "width": axis.place(one.to) - from,
                    "at": one.from,
                    "lasted": one.to - one.from,
                })
            });
            json!({
                "session": lane.session,
                "levels": lane.levels,
                "boxes": boxes.collect::<Vec<_>>(),
            })
        });
        Ok(Json(json!({
            "total": axis.length(),
            "first": axis.first(),
            "breaks": axis.breaks().collect::<Vec<_>>(),
            "lanes": lanes.collect::<Vec<_>>(),
        })))
    })
    .await
}

/// The drawing as a file to keep.
pub(super) async fn picture(
    State(site): State<Arc<Site>>,
    Query(wanted): Query<Wanted>,
) -> Response {
    site.counted().await;
    answered(site, move |site| {
        let picture = Picture {
            scope: wanted.scope(site)?,
            measure: wanted.measure()?,
            order: match wanted.order.as_deref() {
                Some("time") => Order::InTime,
                _ => Order::Merged,
            },
            title: printable(&site.engine.project().name()),
        };
        let headers = [
            (header::CONTENT_TYPE, "image/svg+xml"),
            (
                header::CONTENT_DISPOSITION,
                "attachment; filename=\"flame.svg\"",
            ),
        ];
        Ok((headers, site.with_work(|work| picture.svg(work))))
    })
    .await
}

/// Words to look for.
#[derive(Deserialize)]
pub(super) struct Words {
    q: String,
}

pub(super) async fn search(State(site): State<Arc<Site>>, Query(words): Query<Words>) -> Response {
    answered_while_wanted(site, move |site, is_over| {
        let recall = site.engine.recall().for_caller(is_over);
        let found = recall.search(&words.q, HITS, Patience::Command, &mut |_, _| {})?;
        let hits = found.hits().map(|(hit, title)| {
            json!({
                "frame": hit.frame.as_str(),
                "title": printable(title),
                "field": hit.field,
                "excerpt": printable(&hit.excerpt),
            })
        });
        Ok(Json(json!({
            "hits": hits.collect::<Vec<_>>(),
            "more": found.searched.more,
            "partial": found.partial(),
        })))
    })
    .await
}

/// The resume brief of a session.
pub(super) async fn brief(State(site): State<Arc<Site>>, Query(which): Query<Which>) -> Response {
    answered(site, move |site| {
        let session = which.session()?;
        let request = BriefRequest {
            session: Some(session.unwrap_or_else(|| site.options.actor.session.clone())),
            budget: site.options.brief_budget,
            ..BriefRequest::default()
        };
        let workflows = gather_workflows(&site.options.home, site.engine.project());
        let brief = site.engine.brief(&request, &workflows)?;
        Ok(Json(json!({ "text": printable(&brief.text) })))
    })
    .await
}
