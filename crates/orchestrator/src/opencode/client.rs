//! Calls to OpenCode's server.

use std::path::Path;
use std::time::Duration;

use flamestack_core::text::percent_encoded;
use serde::de::DeserializeOwned;
use serde_json::Value;
use ureq::Agent;
use ureq::http::Response;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};

use crate::host::HostError;

/// Time that a call may take. Calls that start a turn return immediately.
const PATIENCE: Duration = Duration::from_mins(1);

/// Time for which a connection is kept. Servers and proxies close idle ones after 5 s and more, and a
/// call on a connection that is being closed has an unknown outcome.
const IDLE: Duration = Duration::from_secs(1);

/// Address and credentials of a server.
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    /// Address, without a slash at its end.
    pub url: String,
    /// User name.
    pub user: String,
    /// Password, if the server wants one.
    pub password: Option<String>,
    /// Certificates, in DER, that an `https` server is checked against; if empty, those of the public
    /// authorities.
    certificates: Vec<Vec<u8>>,
}

impl std::fmt::Debug for Login {
    /// The password does not belong in a log.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Login").field(&self.url).finish()
    }
}

impl Login {
    /// Checks an address as the user typed it.
    pub fn parse(
        url: &str,
        password: Option<String>,
        user: Option<String>,
    ) -> Result<Self, HostError> {
        let stranger = |reason: &str| HostError::Stranger {
            url: url.to_owned(),
            reason: reason.to_owned(),
        };
        let Some(("http" | "https", rest)) = url.split_once("://") else {
            return Err(stranger(
                "the address does not begin with http:// or https://",
            ));
        };
        if rest.trim_end_matches('/').is_empty() || rest.contains(char::is_whitespace) {
            return Err(stranger("the address names no host"));
        }
        Ok(Self {
            url: url.trim_end_matches('/').to_owned(),
            user: user.unwrap_or_else(|| "opencode".to_owned()),
            password,
            certificates: Vec::new(),
        })
    }

    /// The login of a server that we start.
    pub(super) fn own(url: String, password: String) -> Self {
        Self {
            url,
            user: "opencode".to_owned(),
            password: Some(password),
            certificates: Vec::new(),
        }
    }

    /// Checks the server against the certificates of a file in PEM, in place of the public authorities.
    pub fn trusting(mut self, pem: &[u8]) -> Result<Self, HostError> {
        let bad = |reason: String| HostError::Certificates { reason };
        for item in parse_pem(pem) {
            let item = item.map_err(|error| bad(error.to_string()))?;
            if let PemItem::Certificate(certificate) = item {
                self.certificates.push(certificate.der().to_owned());
            }
        }
        if self.certificates.is_empty() {
            return Err(bad("it holds none".to_owned()));
        }
        Ok(self)
    }

    /// Returns the settings of TLS.
    pub(super) fn tls(&self) -> TlsConfig {
        let given = self.certificates.iter();
        let given: Vec<Certificate<'static>> = given
            .map(|der| Certificate::from_der(der).to_owned())
            .collect();
        let builder = TlsConfig::builder();
        if given.is_empty() {
            builder.build()
        } else {
            builder
                .root_certs(RootCerts::new_with_certs(&given))
                .build()
        }
    }

    /// Returns the value of the header that authenticates.
    pub(super) fn authorization(&self) -> Option<String> {
        let password = self.password.as_ref()?;
        let pair = format!("{}:{password}", self.user);
        Some(format!("Basic {}", base64(pair.as_bytes())))
    }
}

/// Encodes bytes in base 64.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let at = |place: usize| u32::from(chunk.get(place).copied().unwrap_or_default());
        let bits = (at(0) << 16) | (at(1) << 8) | at(2);
        for place in 0..4 {
            let index = (bits >> (18 - 6 * place)) & 63;
            let letter = LETTERS.get(index as usize).copied().unwrap_or(b'=');
            let is_there = place <= chunk.len();
            text.push(if is_there { char::from(letter) } else { '=' });
        }
    }
    text
}

/// A client of one server.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) login: Login,
    agent: Agent,
}

impl Client {
    pub(super) fn new(login: Login) -> Self {
        let config = Agent::config_builder()
            .timeout_global(Some(PATIENCE))
            .max_idle_age(IDLE)
            .http_status_as_error(false)
            .proxy(None)
            .tls_config(login.tls())
            .build();
        Self {
            login,
            agent: config.new_agent(),
        }
    }

    pub(super) fn get<T: DeserializeOwned>(
        &self,
        path: &str,
        directory: Option<&Path>,
    ) -> Result<T, HostError> {
        let mut request = self.agent.get(self.address(path, directory));
        if let Some(authorization) = self.login.authorization() {
            request = request.header("authorization", authorization);
        }
        self.read(request.call())
    }

    /// Returns `None` if there is no such thing.
    pub(super) fn find<T: DeserializeOwned>(
        &self,
        path: &str,
        directory: Option<&Path>,
    ) -> Result<Option<T>, HostError> {
        match self.get(path, directory) {
            Err(HostError::Refused {
                status: 400 | 404, ..
            }) => Ok(None),
            other => other.map(Some),
        }
    }

    pub(super) fn post(
        &self,
        path: &str,
        directory: Option<&Path>,
        body: &Value,
    ) -> Result<Value, HostError> {
        let mut request = self.agent.post(self.address(path, directory));
        if let Some(authorization) = self.login.authorization() {
            request = request.header("authorization", authorization);
        }
        self.read(request.send_json(body))
    }

    pub(super) fn delete(&self, path: &str, directory: Option<&Path>) -> Result<(), HostError> {
        let mut request = self.agent.delete(self.address(path, directory));
        if let Some(authorization) = self.login.authorization() {
            request = request.header("authorization", authorization);
        }
        match self.read::<Value>(request.call()) {
            Err(HostError::Refused { status: 404, .. }) => Ok(()),
            other => other.map(|_| ()),
        }
    }

    fn address(&self, path: &str, directory: Option<&Path>) -> String {
        let mut address = format!("{}{path}", self.login.url);
        if let Some(directory) = directory {
            let mark = if path.contains('?') { '&' } else { '?' };
            let directory = percent_encoded(&directory.to_string_lossy(), b"");
            address.push_str(&format!("{mark}directory={directory}"));
        }
        address
    }

    fn read<T: DeserializeOwned>(
        &self,
        answer: Result<Response<ureq::Body>, ureq::Error>,
    ) -> Result<T, HostError> {
        let unreachable = |reason: String| HostError::Unreachable {
            url: self.login.url.clone(),
            reason,
        };
        let mut answer = answer.map_err(|error| unreachable(error.to_string()))?;
        let status = answer.status().as_u16();
        let body = answer.body_mut().with_config().limit(200 * 1024 * 1024);
        let text = body
            .read_to_string()
            .map_err(|error| unreachable(error.to_string()))?;
        match status {
            200..300 => {}
            401 | 403 => {
                return Err(HostError::Unauthorized {
                    url: self.login.url.clone(),
                });
            }
            500.. => {
                return Err(HostError::Failed {
                    status,
                    message: message(&text),
                });
            }
            _ => {
                return Err(HostError::Refused {
                    status,
                    message: message(&text),
                });
            }
        }
        let text = if text.trim().is_empty() {
            "null"
        } else {
            &text
        };
        serde_json::from_str(text).map_err(|error| HostError::Unreadable {
            reason: error.to_string(),
        })
    }
}

/// Returns the message of an error, which is JSON in most cases.
fn message(text: &str) -> String {
    let value: Option<Value> = serde_json::from_str(text).ok();
    let said = value.as_ref().and_then(|value| {
        let data = value.get("data").and_then(|data| data.get("message"));
        data.or_else(|| value.get("message"))?.as_str()
    });
    let said = said.unwrap_or(text).trim();
    said.chars().take(400).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_encoded() {
        assert_eq!(base64(b"opencode:pw"), "b3BlbmNvZGU6cHc=");
        assert_eq!(base64(b"abc"), "YWJj");
        assert_eq!(base64(b"a"), "YQ==");
    }

    #[test]
    fn addresses_are_checked() {
        let parse = |url: &str| Login::parse(url, None, None);
        assert_eq!(
            parse("http://127.0.0.1:4096/").unwrap().url,
            "http://127.0.0.1:4096"
        );
        assert_eq!(parse("https://x/").unwrap().url, "https://x");
        let none = parse("https://x").unwrap().trusting(b"nothing");
        assert!(matches!(none, Err(HostError::Certificates { .. })));
        for bad in [
            "localhost:4096",
            "https://",
            "http://",
            "ftp://x",
            "http:// x",
            "",
        ] {
            assert!(
                matches!(parse(bad), Err(HostError::Stranger { .. })),
                "{bad}"
            );
        }
    }
}
