//! The entrance: the token of the address is good for one exchange, for a session of the browser.

use std::sync::{Arc, Mutex, PoisonError};

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use super::{PageError, Site};

/// Knows the token until it is used, and the sessions of browsers. Both end with the process, so that
/// what another program on the same port might see later is worth nothing.
pub(super) struct Entrance {
    token: Mutex<Option<String>>,
    session: String,
}

impl Entrance {
    /// Returns an entrance and the token that opens it.
    pub(super) fn new() -> Result<(Self, String), PageError> {
        let token = random()?;
        let entrance = Self {
            token: Mutex::new(Some(token.clone())),
            session: random()?,
        };
        Ok((entrance, token))
    }

    /// Takes the token. It works once.
    fn exchange(&self, given: &str) -> bool {
        let mut token = self.token.lock().unwrap_or_else(PoisonError::into_inner);
        let is_right = token
            .as_deref()
            .is_some_and(|token| is_same(token.as_bytes(), given.as_bytes()));
        if is_right {
            *token = None;
        }
        is_right
    }

    /// Returns true for a browser that has exchanged the token.
    pub(super) fn knows(&self, headers: &HeaderMap, port: u16) -> bool {
        let name = cookie(port);
        let cookies = headers.get_all(header::COOKIE).iter();
        let mut pairs = cookies
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(';'))
            .filter_map(|pair| pair.trim().split_once('='));
        pairs.any(|(key, value)| key == name && is_same(value.as_bytes(), self.session.as_bytes()))
    }
}

/// Name of the cookie. Cookies belong to a host, not to a port: several servers on one host need names of
/// their own.
fn cookie(port: u16) -> String {
    format!("flame_{port}")
}

/// Compares without saying by the time it takes how much is right.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    let pairs = one.iter().zip(other);
    one.len() == other.len() && pairs.fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
}

/// Returns 256 random bits in hex.
pub(super) fn random() -> Result<String, PageError> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(|error| PageError::Randomness(error.to_string()))?;
    let mut hex = String::with_capacity(64);
    for byte in bytes {
        hex.push_str(&format!("{byte:02x}"));
    }
    Ok(hex)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Key {
    token: String,
}

/// Exchanges the token for a cookie that only this page sends back.
pub(super) async fn enter(State(site): State<Arc<Site>>, Json(key): Json<Key>) -> Response {
    if !site.entrance.exchange(&key.token) {
        let why = "this address was used already or is of another run";
        return (StatusCode::FORBIDDEN, why).into_response();
    }
    let name = cookie(site.port);
    let session = &site.entrance.session;
    let cookie = format!("{name}={session}; Path=/; HttpOnly; SameSite=Strict");
    ([(header::SET_COOKIE, cookie)], StatusCode::NO_CONTENT).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_works_once() {
        let (entrance, token) = Entrance::new().unwrap();
        assert!(!entrance.exchange(""));
        assert!(!entrance.exchange(&token[1..]));
        assert!(entrance.exchange(&token));
        assert!(!entrance.exchange(&token));
    }

    #[test]
    fn a_session_belongs_to_a_port() {
        let (entrance, _) = Entrance::new().unwrap();
        let with = |text: String| {
            let mut headers = HeaderMap::new();
            headers.insert(header::COOKIE, text.parse().unwrap());
            entrance.knows(&headers, 8080)
        };
        assert!(with(format!("a=b; flame_8080={}", entrance.session)));
        assert!(!with(format!("flame_8081={}", entrance.session)));
        assert!(!with("flame_8080=".to_owned()));
        assert!(!with(format!("flame_8080={}x", entrance.session)));
    }
}
