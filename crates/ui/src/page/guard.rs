//! The guard: every request, of every method and path, has to come from the page itself.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::Site;

/// Paths that hold no data and are served without a session.
fn is_open(path: &str) -> bool {
    path == "/" || path == "/enter" || path.starts_with("/page/")
}

/// Refuses requests that do not come from the page, and sets the headers of every answer.
pub(super) async fn check(State(site): State<Arc<Site>>, request: Request, next: Next) -> Response {
    let verdict = judge(
        &site,
        request.method(),
        request.uri().path(),
        request.headers(),
    );
    let mut response = match verdict {
        Ok(()) => next.run(request).await,
        Err((status, why)) => (status, why).into_response(),
    };
    for (name, value) in HEADERS {
        let name = HeaderName::from_static(name);
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Headers of every answer.
const HEADERS: [(&str, &str); 7] = [
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cache-control", "no-store"),
];

type Verdict = Result<(), (StatusCode, &'static str)>;

fn judge(site: &Site, method: &Method, path: &str, headers: &HeaderMap) -> Verdict {
    let host = host(site, headers)?;
    if !matches!(*method, Method::GET | Method::POST) {
        return Err((StatusCode::METHOD_NOT_ALLOWED, "only GET and POST"));
    }
    if !is_normal(path) {
        return Err((StatusCode::BAD_REQUEST, "this is not a path of the page"));
    }
    origin(method, headers, &host)?;
    fetched_from(path, headers)?;
    if is_open(path) || site.entrance.knows(headers, site.port) {
        return Ok(());
    }
    Err((
        StatusCode::UNAUTHORIZED,
        "open the address that `flame ui` printed",
    ))
}

/// Returns the host that was asked for, if it is a name of this server. A page whose name was pointed
/// at this machine (DNS rebinding) asks for another.
fn host(site: &Site, headers: &HeaderMap) -> Result<String, (StatusCode, &'static str)> {
    let wrong = (StatusCode::MISDIRECTED_REQUEST, "this host is not served");
    let mut hosts = headers.get_all(header::HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else {
        return Err(wrong);
    };
    let host = host.to_str().map_err(|_| wrong)?;
    let names = ["127.0.0.1", "localhost", "[::1]"];
    let is_ours = names
        .iter()
        .any(|name| host == format!("{name}:{}", site.port));
    if is_ours {
        Ok(host.to_owned())
    } else {
        Err(wrong)
    }
}

/// Returns true for a path without anything that another reader might resolve differently.
fn is_normal(path: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '-' | '_');
    path.starts_with('/')
        && path.chars().all(plain)
        && !path.contains("//")
        && !path.contains("..")
        && !path.contains("/.")
}

/// A change needs the page's own origin; a missing one is refused too. Reading needs no origin, since
/// browsers send none, but a wrong one is refused.
fn origin(method: &Method, headers: &HeaderMap, host: &str) -> Verdict {
    let foreign = (StatusCode::FORBIDDEN, "this comes from another page");
    let mut origins = headers.get_all(header::ORIGIN).iter();
    match (origins.next(), origins.next()) {
        (None, _) if *method == Method::GET => Ok(()),
        (Some(origin), None) if origin.as_bytes() == format!("http://{host}").as_bytes() => Ok(()),
        _ => Err(foreign),
    }
}

/// Browsers say where a request comes from. Only the first page may be opened from elsewhere, as a
/// whole: it holds no data and cannot be framed.
fn fetched_from(path: &str, headers: &HeaderMap) -> Verdict {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    match text("sec-fetch-site") {
        None | Some("same-origin") => Ok(()),
        Some(_)
            if path == "/"
                && text("sec-fetch-mode") == Some("navigate")
                && text("sec-fetch-dest") == Some("document") =>
        {
            Ok(())
        }
        // A user who opens a link in a new tab, such as that of a picture.
        Some("none") if text("sec-fetch-mode") == Some("navigate") => Ok(()),
        Some(_) => Err((StatusCode::FORBIDDEN, "this comes from another page")),
    }
}

#[cfg(test)]
mod tests {
    use super::is_normal;

    #[test]
    fn paths_that_could_be_read_in_two_ways_are_refused() {
        for path in ["/", "/api/tree", "/page/app.js"] {
            assert!(is_normal(path), "{path}");
        }
        for path in [
            "",
            "api",
            "//api/tree",
            "/x/../api/tree",
            "/%2e%2e/api",
            "/api%2ftree",
            "/api/./tree",
            "/api\\tree",
            "/page/..",
            "/page/.hidden",
            "/api/tree;x",
        ] {
            assert!(!is_normal(path), "{path}");
        }
    }
}
