/** Milliseconds until a time (ISO 8601) by the workflow's clock; at least a second, so that a time that has passed is no spin. */
export function msUntil(time: string): number {
  return Math.max(1_000, new Date(time).getTime() - Date.now());
}
