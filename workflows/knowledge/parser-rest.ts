const minMs = 1_000;
/** In the first hour. Later five minutes, so that the history of a day of waiting stays far below the longest. */
const maxMs = 30_000;
const hourMs = 3_600_000;
const maxLaterMs = 300_000;
/** Files that wait come back a little more than twice a second, all of them together. */
const msPerFile = 400;

/**
 * How long a file stays away that has found no parser free: a twentieth of what it has waited, so that no parser is free for long before it comes, and longer
 * the more files wait (`waiting`), of which any one takes a free parser. Half a minute at most, and five where it has waited for an hour.
 */
export function parserRestMs(waitedMs: number, waiting: number): number {
  const longestMs = waitedMs < hourMs ? maxMs : maxLaterMs;
  return Math.min(longestMs, Math.max(minMs, waitedMs / 20, waiting * msPerFile));
}
