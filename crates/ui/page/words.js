// Numbers and times for people.

/** @typedef {import("./types.d.ts").Amounts} Amounts */

/** @param {number} number */
export function grouped(number) {
  return number.toLocaleString("en-US");
}

/** @param {number} number */
export function short(number) {
  if (number < 10_000) return grouped(number);
  if (number < 999_500) return `${(number / 1000).toFixed(number < 99_950 ? 1 : 0)}k`;
  if (number < 999_500_000) return `${(number / 1e6).toFixed(number < 99_950_000 ? 1 : 0)}M`;
  return `${(number / 1e9).toFixed(1)}G`;
}

/** @param {number | null} micro */
export function money(micro) {
  if (micro === null) return "–";
  if (micro === 0) return "$0";
  const dollars = micro / 1e6;
  return `$${dollars < 0.01 ? dollars.toFixed(4) : dollars.toFixed(2)}`;
}

/** @param {number} milliseconds */
export function lasted(milliseconds) {
  const seconds = Math.floor(milliseconds / 1000);
  const minutes = Math.floor(seconds / 60), hours = Math.floor(minutes / 60), days = Math.floor(hours / 24);
  if (seconds < 60) return `${seconds} s`;
  if (minutes < 60) return `${minutes} min`;
  if (hours < 24) return `${hours} h ${minutes % 60} min`;
  return `${days} d ${hours % 24} h`;
}

/** @param {number} from @param {number} to */
export function between(from, to) {
  const sameDay = new Date(from).toDateString() === new Date(to).toDateString();
  const end = sameDay ? new Date(to).toLocaleTimeString([], { timeStyle: "short" }) : full(to);
  return `${sameDay ? when(from) : full(from)} to ${end}`;
}

/** @param {number} at */
function full(at) {
  return new Date(at).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
}

/** @param {number} at */
export function when(at) {
  const date = new Date(at), today = new Date();
  const sameDay = date.toDateString() === today.toDateString();
  return sameDay
    ? date.toLocaleTimeString([], { timeStyle: "short" })
    : full(at);
}

/** @param {Amounts} amounts */
export function tokens(amounts) {
  return amounts.input + amounts.cacheRead + amounts.cacheWrite + amounts.output;
}

/** @param {string} measure @param {number} amount */
export function amount(measure, amount) {
  switch (measure) {
    case "cost": return money(amount);
    case "time": return lasted(amount);
    case "messages": return `${grouped(amount)} ${amount === 1 ? "message" : "messages"}`;
    case "saved": return `${grouped(amount)} tokens saved`;
    default: return `${grouped(amount)} tokens`;
  }
}

/** @type {Record<string, string>} */
const SIGNS = {
  in_progress: "→", active: "→", planned: "○", blocked: "!", completed: "✓", folded: "✓", failed: "✗", invalidated: "–",
};

/** @param {string} status */
export function sign(status) {
  return SIGNS[status] ?? "";
}

/** @param {string} status */
export function words(status) {
  return status === "in_progress" ? "in progress" : status;
}
