//! The live page: a small server on the loopback interface, for the user of this machine alone.
//!
//! `docs/ui.md` has the threat model. `guard` refuses what does not come from the page itself,
//! `entry` exchanges the token of the address for a session of the browser, `live` follows the
//! journal, `api` answers and `acts` does what the user asks for. The page's files are part of the
//! program.

mod acts;
mod api;
mod assets;
mod entry;
mod frame;
mod guard;
mod live;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, RwLock};

use axum::Router;
use axum::routing::{get, post};
use flamestack_core::Actor;
use flamestack_engine::views::work::Work;
use flamestack_engine::{Engine, Home};
use tokio::net::TcpListener;
use tokio::sync::watch;

use self::entry::Entrance;
use self::live::News;

/// Error of the page's server.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// The port is taken, or not allowed.
    #[error("port {port} cannot be used: {source}")]
    Port {
        /// The port.
        port: u16,
        /// The system's answer.
        source: std::io::Error,
    },
    /// There is no source of randomness for the token.
    #[error("there is no randomness for the page's token: {0}")]
    Randomness(String),
    /// The server could not be started or went away.
    #[error("the page's server failed: {0}")]
    Server(#[from] std::io::Error),
}

/// Settings of the page.
pub struct PageOptions {
    /// The port; 0 for any free one.
    pub port: u16,
    /// The user who acts on the page.
    pub actor: Actor,
    /// The user's directories.
    pub home: Home,
    /// Maximum number of tokens of a resume brief.
    pub brief_budget: usize,
}

/// The state that every request needs.
pub(crate) struct Site {
    engine: Arc<Engine>,
    options: PageOptions,
    port: u16,
    entrance: Entrance,
    work: RwLock<Work>,
    news: watch::Sender<News>,
    /// Names this process: after a restart, positions say nothing about what a page has seen.
    epoch: String,
}

/// Serves the page until the process ends. `opened` gets the address, with the token in its fragment,
/// once the server is there.
pub fn serve(
    engine: Arc<Engine>,
    options: PageOptions,
    opened: impl FnOnce(&str),
) -> Result<(), PageError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.block_on(run(engine, options, opened))
}

async fn run(
    engine: Arc<Engine>,
    options: PageOptions,
    opened: impl FnOnce(&str),
) -> Result<(), PageError> {
    let (listeners, port) = listen(options.port).await?;
    let (entrance, token) = Entrance::new()?;
    let site = Arc::new(Site {
        engine,
        port,
        options,
        entrance,
        work: RwLock::default(),
        news: watch::Sender::new(News::default()),
        epoch: entry::random()?,
    });
    let follower = Arc::clone(&site);
    std::thread::Builder::new()
        .name("journal".to_owned())
        .spawn(move || live::follow(&follower))?;
    opened(&format!("http://127.0.0.1:{port}/#{token}"));
    let mut servers = Vec::new();
    for listener in listeners {
        let routes = routes(Arc::clone(&site));
        servers.push(tokio::spawn(
            async move { axum::serve(listener, routes).await },
        ));
    }
    for server in servers {
        server.await.map_err(std::io::Error::other)??;
    }
    Ok(())
}

fn routes(site: Arc<Site>) -> Router {
    Router::new()
        .route("/", get(assets::index))
        .route("/page/{name}", get(assets::file))
        .route("/enter", post(entry::enter))
        .route("/events", get(live::events))
        .route("/api/tree", post(api::tree))
        .route("/api/frame", get(frame::frame))
        .route("/api/context", get(api::context))
        .route("/api/sessions", get(api::sessions))
        .route("/api/graph", get(api::graph))
        .route("/api/chart", get(api::chart))
        .route("/api/picture", get(api::picture))
        .route("/api/search", get(api::search))
        .route("/api/brief", get(api::brief))
        .route("/api/act", post(acts::act))
        .layer(axum::extract::DefaultBodyLimit::max(1024 * 1024))
        .layer(axum::middleware::from_fn_with_state(
            Arc::clone(&site),
            guard::check,
        ))
        .with_state(site)
}

/// Binds the loopback addresses and nothing else: of IPv6 too, where the machine has it.
async fn listen(port: u16) -> Result<(Vec<TcpListener>, u16), PageError> {
    let at = |ip: IpAddr, port: u16| SocketAddr::new(ip, port);
    let four = TcpListener::bind(at(Ipv4Addr::LOCALHOST.into(), port)).await;
    let four = four.map_err(|source| PageError::Port { port, source })?;
    let port = four.local_addr()?.port();
    let mut listeners = vec![four];
    match TcpListener::bind(at(Ipv6Addr::LOCALHOST.into(), port)).await {
        Ok(six) => listeners.push(six),
        // Another user's program must not answer for ours under the name localhost.
        Err(source) if source.kind() == std::io::ErrorKind::AddrInUse => {
            return Err(PageError::Port { port, source });
        }
        Err(_) => {}
    }
    Ok((listeners, port))
}
