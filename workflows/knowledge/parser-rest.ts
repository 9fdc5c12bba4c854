const minMs = 1_000;
/** Applies in the first hour. After that the maximum is five minutes, so that the history of a day of waiting stays far below the limit. */
const maxMs = 30_000;
const hourMs = 3_600_000;
const maxLaterMs = 300_000;
/** All waiting files together retry a little more than twice a second. */
const msPerFile = 400;

/**
 * How long a file that found no parser free waits before it retries: a twentieth of the time it has waited, so that no parser stays free for long, and longer
 * the more files wait (`waiting`), since any of them takes a free parser. At most half a minute, or five minutes once it has waited for an hour.
 */
export function parserRestMs(waitedMs: number, waiting: number): number {
  const maxRestMs = waitedMs < hourMs ? maxMs : maxLaterMs;
  return Math.min(maxRestMs, Math.max(minMs, waitedMs / 20, waiting * msPerFile));
}

/** Returns the milliseconds until a time (ISO 8601) by the workflow's clock; at least one second, so that a past time causes no busy loop. */
export function msUntil(time: string): number {
  return Math.max(1_000, new Date(time).getTime() - Date.now());
}
