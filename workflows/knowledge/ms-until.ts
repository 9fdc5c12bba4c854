/** Returns the milliseconds until a time (ISO 8601) by the workflow's clock; at least one second, so that a past time causes no busy loop. */
export function msUntil(time: string): number {
  return Math.max(1_000, new Date(time).getTime() - Date.now());
}
