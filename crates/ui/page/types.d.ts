// What the server answers: the view model of `flamestack_engine::views::work`.
// A test compares the names here with what the server really sends.

export interface Amounts {
  input: number; cacheRead: number; cacheWrite: number; output: number;
  microDollars: number | null; milliseconds: number; prompts: number; calls: number; saved: number;
}

export interface Row {
  id: string; depth: number; title: string; hidden: number; status: string; origin: string;
  below: number; isOpen: boolean; isClaimed: boolean; proofs: number; failures: number; by: string;
  activeIn: string[]; isFolded: boolean; isDropped: boolean; begun: number | null; ended: number | null;
  own: Amounts; total: Amounts;
}

export interface Rows { position: number; rows: Row[]; frames: number; isCounted: boolean; total: Amounts; outside: Amounts; project: string; ready: boolean; }

export interface Note { text: string; why: string | null; by: string | null; good: boolean | null; detail: string | null; }

export interface Frame {
  id: string; title: string; status: string; statusWords: string; claimed: boolean; origin: string;
  path: { id: string; title: string }[];
  criteria: string | null; results: string | null; resultsCompacted: string | null; summary: string | null;
  blockedOn: string | null; invalidated: string | null; session: string | null; span: string | null;
  sessions: string[]; created: number; started: number | null; ended: number | null;
  directives: Note[]; decisions: Note[]; failedAttempts: Note[]; artifacts: Note[]; evidence: Note[];
  logs: { label: string; bytes: number; dropped: boolean }[];
  events: { seq: number; at: number; session: string; what: string }[]; eventsLeftOut: number;
  amounts: { own: Amounts; total: Amounts; below: number; isFolded: boolean; isDropped: boolean } | null;
}

export interface Section {
  kind: string; part: string; seq: number | null; tokens: number; text: string;
  leftOut: { what: string; count: number; why: string; call: string }[];
}

export interface Compaction {
  kind: string; at: number | null; before: number | null; after: number | null; survived: number;
  lost: [string, string][]; moreLost: number; restored: number;
}

export interface Sent { session: string | null; sent: Section[]; now: Section[]; tokens: number; budget: number; compactions: Compaction[]; }

export interface Session {
  key: string; host: string; title: string | null; state: string; parent: string | null; active: string | null;
  worktree: string | null; model: string | null; size: number; window: number | null; begun: number; last: number;
  compactions: number; interruptions: number; spent: Amounts;
  marks: { at: number; kind: string }[]; stretches: [number, number][];
}

export interface Sessions { sessions: Session[]; own: string; }

export interface Box {
  frame: string | null; title: string; look: string; claimed: boolean; dropped: boolean; level: number; from: number; width: number;
  count?: number; own?: number; at?: number; lasted?: number;
}

export interface Graph { measure: string; total: number; levels: number; boxes: Box[]; }

export interface Chart {
  total: number; first: number | null; breaks: [number, number][];
  lanes: { session: string; levels: number; boxes: Box[] }[];
}

export interface Found { hits: { frame: string; title: string; field: string; excerpt: string }[]; more: boolean; partial: string | null; }

export interface News { position: number; ready: boolean; problem: string | null; epoch: string; missed: boolean; }
