import type { Context } from '@temporalio/activity';

const everyMs = 1_500;

/**
 * Sends heartbeats for the whole life of an activity that has a heartbeat timeout; the reply to a heartbeat also delivers a cancellation. A timer drives it,
 * not progress: a tool may be silent for minutes. The first one comes after the interval, too: most activities have ended by then. Returns the function that
 * stops it.
 */
export function keepHeartbeating(context: Context): () => void {
  if (!context.info.heartbeatTimeoutMs) return () => undefined;
  const timer = setInterval(() => context.heartbeat(), everyMs);
  return () => clearInterval(timer);
}
