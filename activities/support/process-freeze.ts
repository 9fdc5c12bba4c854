const pollEveryMs = 500;
/** Longer than a busy machine occasionally delays an event loop. */
const stillMs = 3_000;

let seen: { readonly monotonic: number; readonly wall: number } | null = null;
let lastEnd = -Infinity;

/**
 * Whether this process was frozen for seconds at a time and has run again since `at` (`performance.now()`): it was stopped or throttled, or its machine was
 * suspended or moved. A suspended machine stops the monotonic clock too, so the wall clock is checked as well; setting that clock looks the same.
 */
export function wasFrozenSince(at: number): boolean {
  if (seen === null) setInterval(check, pollEveryMs).unref();
  check();
  return lastEnd >= at;
}

function check(): void {
  const now = { monotonic: performance.now(), wall: Date.now() };
  if (seen !== null) {
    const passed = Math.max(now.monotonic - seen.monotonic, Math.abs(now.wall - seen.wall));
    if (passed > pollEveryMs + stillMs) lastEnd = now.monotonic;
  }
  seen = now;
}
