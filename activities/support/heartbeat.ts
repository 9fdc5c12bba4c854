import type { Context } from '@temporalio/activity';

const everyMs = 2000;

/**
 * Beats for the whole life of an activity that has a heartbeat timeout; the answer to a beat is also how a cancellation
 * arrives. A timer and not progress: a tool may be silent for minutes. Gives the function that ends it.
 */
export function keepBeating(context: Context): () => void {
  if (!context.info.heartbeatTimeoutMs) return () => undefined;
  const timer = setInterval(() => context.heartbeat(), everyMs);

  context.heartbeat();
  return () => clearInterval(timer);
}
