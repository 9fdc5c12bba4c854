import type { Context } from '@temporalio/activity';

const everyMs = 1_500;

/**
 * Beats for the whole life of an activity that has a heartbeat timeout; the answer to a beat is also how a cancellation
 * arrives. A timer and not progress: a tool may be silent for minutes. The first comes after the pause, too: most activities have ended by then. Gives
 * the function that ends it.
 */
export function keepHeartbeating(context: Context): () => void {
  if (!context.info.heartbeatTimeoutMs) return () => undefined;
  const timer = setInterval(() => context.heartbeat(), everyMs);
  return () => clearInterval(timer);
}
