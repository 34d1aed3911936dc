//! Following the journal: one thread reads what is new, and every open page hears of it.

use std::convert::Infallible;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::{Event, Sse};
use futures_util::stream::{self, Stream};
use serde_json::json;
use tokio::sync::watch;

use super::Site;

/// Shortest time between two updates: at most four in a second.
const UPDATE: Duration = Duration::from_millis(250);
/// Time between two parts of a long journal.
const BETWEEN_PARTS: Duration = Duration::from_millis(1);
/// Time between two looks at the journal while no page is open.
const UNWATCHED: Duration = Duration::from_secs(1);
/// Time between two signs of life. A page that misses two of them connects again.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// The state that pages are shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct News {
    /// The last event that was read.
    pub(super) position: i64,
    /// True if there are frames to show.
    pub(super) has_frames: bool,
    /// True once the amounts are known.
    pub(super) is_counted: bool,
    /// True while all of the journal was read.
    pub(super) is_ready: bool,
    /// The reason why the journal cannot be read.
    pub(super) problem: Option<String>,
}

/// Follows the journal for as long as the process lives.
pub(super) fn follow(site: &Site) {
    loop {
        let news = match read_on(site) {
            Ok(news) => news,
            Err(error) => News {
                problem: Some(error.to_string()),
                ..site.news.borrow().clone()
            },
        };
        let is_behind = !news.is_ready && news.problem.is_none();
        site.news.send_if_modified(|known| {
            let is_new = *known != news;
            *known = news;
            is_new
        });
        std::thread::sleep(if is_behind {
            // Requests that wait for the part that was read get their turn.
            BETWEEN_PARTS
        } else if site.news.receiver_count() > 0 {
            UPDATE
        } else {
            UNWATCHED
        });
    }
}

/// Reads a part of what is new.
fn read_on(site: &Site) -> Result<News, flamestack_engine::EngineError> {
    site.engine.read(|reading| {
        let mut work = site.work.write().unwrap_or_else(PoisonError::into_inner);
        let is_ready = work.catch_up(reading)?;
        Ok(News {
            position: work.position().0,
            has_frames: work.frames() > 0,
            is_counted: work.is_counted(),
            is_ready,
            problem: None,
        })
    })
}

/// The stream of one page.
struct Watching {
    site: Arc<Site>,
    news: watch::Receiver<News>,
    /// The position that the page knows; none before the first message.
    known: Option<i64>,
}

/// Streams positions of the journal as they come. The id of a message is the position, so that a page
/// that connects again says what it has seen.
pub(super) async fn events(
    State(site): State<Arc<Site>>,
    headers: HeaderMap,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let seen = headers.get("last-event-id");
    let seen = seen.and_then(|id| id.to_str().ok()?.parse::<i64>().ok());
    let news = site.news.subscribe();
    let watching = Watching {
        site,
        news,
        known: None,
    };
    Sse::new(stream::unfold(
        (watching, seen),
        |(mut watching, seen)| async move {
            let event = watching.next(seen).await;
            Some((Ok(event), (watching, seen)))
        },
    ))
}

impl Watching {
    async fn next(&mut self, seen: Option<i64>) -> Event {
        if self.known.is_none() {
            let news = self.news.borrow_and_update().clone();
            self.known = Some(news.position);
            return self.message("hello", &news, seen);
        }
        let changed = tokio::time::timeout(HEARTBEAT, self.news.changed()).await;
        if let Ok(Ok(())) = changed {
            // What else comes in the meantime is part of the same message.
            tokio::time::sleep(UPDATE).await;
            let news = self.news.borrow_and_update().clone();
            self.known = Some(news.position);
            return self.message("change", &news, None);
        }
        let news = self.news.borrow().clone();
        self.message("heartbeat", &news, None)
    }

    fn message(&self, kind: &str, news: &News, seen: Option<i64>) -> Event {
        let data = json!({
            "position": news.position,
            "ready": news.is_ready,
            "problem": news.problem,
            "epoch": self.site.epoch,
            "missed": seen.is_none_or(|seen| seen != news.position),
        });
        Event::default()
            .event(kind)
            .id(news.position.to_string())
            .data(data.to_string())
    }
}
