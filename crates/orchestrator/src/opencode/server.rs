//! A server of our own: started on a free loopback port with a random password, configured through its
//! environment, and gone when we are.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use serde_json::{Value, json};

use super::client::Login;
use crate::host::HostError;

/// Time that a server may take to start. A first start may install packages.
const START: Duration = Duration::from_secs(150);
/// Name of our tools' server: OpenCode shows `frame_push` of it as `stack_frame_push`.
const TOOLS: &str = "stack";

/// The way to start a server.
#[derive(Clone, Debug)]
pub struct ServerPlan {
    /// OpenCode's program.
    pub program: PathBuf,
    /// Command that runs [`super::guard::guard`]; the server's own follows it.
    pub guard: Vec<OsString>,
    /// Command that serves our tools to the sessions.
    pub tools: Vec<String>,
    /// Folder of the project.
    pub directory: PathBuf,
}

/// A running server.
#[derive(Debug)]
pub struct ServerProcess {
    child: Child,
    /// The guard lives as long as this is open.
    alive: Option<ChildStdin>,
    /// Address and credentials.
    pub login: Login,
}

impl ServerProcess {
    /// Starts a server and waits until it listens.
    pub fn start(plan: &ServerPlan) -> Result<Self, HostError> {
        let failed = |reason: String| HostError::NotStarted { reason };
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(|error| failed(error.to_string()))?;
        let password = format!("{:032x}", u128::from_ne_bytes(random));
        let (first, rest) = plan
            .guard
            .split_first()
            .ok_or_else(|| failed("no guard".to_owned()))?;
        let mut command = Command::new(first);
        command
            .args(rest)
            .arg(&plan.program)
            .args(["serve", "--port", "0", "--hostname", "127.0.0.1"])
            .current_dir(&plan.directory)
            .env("OPENCODE_SERVER_PASSWORD", &password)
            .env_remove("OPENCODE_SERVER_USERNAME")
            .env("OPENCODE_CONFIG_CONTENT", configuration(&plan.tools))
            // Our plugin leaves these sessions to us.
            .env("FLAME_RUN", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        #[cfg(unix)]
        {
            use std::os::unix::process::CommandExt as _;
            // Ctrl-C at the terminal is for us alone.
            command.process_group(0);
        }
        let mut child = command
            .spawn()
            .map_err(|error| failed(format!("{}: {error}", first.to_string_lossy())))?;
        let alive = child.stdin.take();
        let url = listening(&mut child).map_err(failed)?;
        Ok(Self {
            child,
            alive,
            login: Login::own(url, password),
        })
    }

    /// Returns true if the server has not ended.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // The end of its input is the guard's order to end everything.
        self.alive = None;
        for _ in 0..500 {
            if !self.is_running() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Waits for the line that says where the server listens.
fn listening(child: &mut Child) -> Result<String, String> {
    let (sender, receiver) = channel();
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let readers: [Option<Box<dyn std::io::Read + Send>>; 2] = [
        out.map(|out| Box::new(out) as Box<_>),
        err.map(|err| Box::new(err) as Box<_>),
    ];
    for reader in readers.into_iter().flatten() {
        let sender = sender.clone();
        std::thread::spawn(move || {
            // Continues reading, so that the server never waits for its reader.
            for line in BufReader::new(reader).lines().map_while(Result::ok) {
                drop(sender.send(line));
            }
        });
    }
    drop(sender);
    let mut said = Vec::new();
    let end = std::time::Instant::now() + START;
    loop {
        let left = end.saturating_duration_since(std::time::Instant::now());
        match receiver.recv_timeout(left) {
            Ok(line) => {
                if let Some((_, url)) = line.split_once("listening on ") {
                    let url = url.split_whitespace().next().unwrap_or_default();
                    return Ok(url.trim_end_matches('/').to_owned());
                }
                said.push(line);
            }
            Err(RecvTimeoutError::Disconnected) => {
                let said = said.split_off(said.len().saturating_sub(6));
                return Err(format!("it ended immediately: {}", said.join(" · ")));
            }
            Err(RecvTimeoutError::Timeout) => {
                return Err(format!("it does not listen after {} s", START.as_secs()));
            }
        }
    }
}

/// Returns the server's configuration: the user's own from the environment, and our tools.
fn configuration(tools: &[String]) -> String {
    let given = std::env::var("OPENCODE_CONFIG_CONTENT").ok();
    let given: Option<Value> = given.and_then(|text| serde_json::from_str(&text).ok());
    let mut all = given.filter(Value::is_object).unwrap_or_else(|| json!({}));
    if let Some(fields) = all.as_object_mut() {
        let servers = fields.entry("mcp").or_insert_with(|| json!({}));
        if let Some(servers) = servers.as_object_mut() {
            let ours = json!({"type": "local", "command": tools, "enabled": true});
            servers.insert(TOOLS.to_owned(), ours);
        }
    }
    all.to_string()
}
