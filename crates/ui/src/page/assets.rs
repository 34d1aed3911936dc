//! The files of the page. They are written as they are served: modules of JavaScript whose types are
//! checked by the TypeScript compiler, without a build.

use axum::extract::Path;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

/// Name, type and content of each file.
const FILES: [(&str, &str, &str); 13] = [
    ("page.css", STYLE, include_str!("../../page/page.css")),
    ("app.js", SCRIPT, include_str!("../../page/app.js")),
    ("acts.js", SCRIPT, include_str!("../../page/acts.js")),
    ("dom.js", SCRIPT, include_str!("../../page/dom.js")),
    ("flame.js", SCRIPT, include_str!("../../page/flame.js")),
    ("frame.js", SCRIPT, include_str!("../../page/frame.js")),
    ("help.js", SCRIPT, include_str!("../../page/help.js")),
    ("live.js", SCRIPT, include_str!("../../page/live.js")),
    (
        "overview.js",
        SCRIPT,
        include_str!("../../page/overview.js"),
    ),
    (
        "sessions.js",
        SCRIPT,
        include_str!("../../page/sessions.js"),
    ),
    ("tree.js", SCRIPT, include_str!("../../page/tree.js")),
    ("words.js", SCRIPT, include_str!("../../page/words.js")),
    (
        "icon.svg",
        "image/svg+xml",
        include_str!("../../page/icon.svg"),
    ),
];

/// The page itself.
pub(super) async fn index() -> Response {
    let page = include_str!("../../page/index.html");
    ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], page).into_response()
}

/// A file of the page.
pub(super) async fn file(Path(name): Path<String>) -> Response {
    match FILES.iter().find(|(known, ..)| *known == name) {
        Some((_, kind, content)) => ([(header::CONTENT_TYPE, *kind)], *content).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}
