// The connection: it notices within 45 seconds that it is gone, and reconnects.

/** @typedef {import("./types.d.ts").News} News */

/** Milliseconds without a message after which the connection counts as lost: two missed heartbeats. */
const SILENCE = 35_000;
const SOONEST = 500;
const LATEST = 5_000;

export class Ended extends Error {}

/** Asks the server. @param {string} path @param {object} [body] @returns {Promise<any>} */
export async function ask(path, body) {
  const options = body === undefined
    ? {}
    : { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const answer = await fetch(path, { ...options, credentials: "same-origin", cache: "no-store" });
  if (answer.status === 401 || answer.status === 421) throw new Ended(await answer.text());
  const isJson = (answer.headers.get("content-type") ?? "").includes("json");
  const content = isJson ? await answer.json() : await answer.text();
  if (!answer.ok) {
    const problem = isJson ? content : { error: content };
    throw new Error(problem.hint ? `${problem.error}: ${problem.hint}` : problem.error);
  }
  return content;
}

/** Exchanges the token in the address for a session, and removes it from the address. */
export async function enter() {
  const token = location.hash.slice(1);
  if (!/^[0-9a-f]{64}$/.test(token)) return;
  history.replaceState(null, "", location.pathname);
  await ask("/enter", { token });
}

/**
 * Follows the journal.
 * @param {(news: News) => void} onNews
 * @param {(state: "live" | "lost" | "ended", problem?: string) => void} onState
 */
export function follow(onNews, onState) {
  /** @type {EventSource | null} */
  let source = null;
  let heard = Date.now();
  let wait = SOONEST;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  let last = "";

  function open() {
    clearTimeout(timer);
    source?.close();
    heard = Date.now();
    source = new EventSource("/events");
    for (const kind of ["hello", "change", "heartbeat"]) {
      source.addEventListener(kind, (event) => {
        heard = Date.now();
        wait = SOONEST;
        /** @type {News} */
        const news = JSON.parse(event.data);
        onState(news.problem ? "lost" : "live", news.problem ?? undefined);
        const seen = `${news.epoch} ${news.position} ${news.ready}`;
        if (kind !== "heartbeat" || seen !== last) onNews(news);
        last = seen;
      });
    }
    source.onerror = () => {
      source?.close();
      lost();
    };
  }

  function lost() {
    onState("lost");
    clearTimeout(timer);
    timer = setTimeout(again, wait);
    wait = Math.min(wait * 2, LATEST);
  }

  async function again() {
    try {
      await ask("/api/sessions");
      open();
    } catch (error) {
      if (error instanceof Ended) onState("ended");
      else lost();
    }
  }

  function check() {
    if (Date.now() - heard > SILENCE) {
      source?.close();
      lost();
    }
  }

  setInterval(check, 5_000);
  // A laptop that slept, a phone that was locked, a network that came back.
  document.addEventListener("visibilitychange", () => { if (!document.hidden) check(); });
  window.addEventListener("online", open);
  window.addEventListener("offline", () => onState("lost"));
  window.addEventListener("hashchange", () => {
    enter().then(open, (error) => onState("ended", error.message));
  });
  open();
}
