/** Whether the API answers, as the last requests of this tab say. */
export interface Connection {
  readonly isAway: boolean;
  /** When the API went away. */
  readonly since: number | null;
}

const listeners = new Set<() => void>();
let current: Connection = { isAway: false, since: null };
let heardAt = Date.now();

export const connection = {
  get: () => current,
  /** When the API last answered anything. */
  heardAt: () => heardAt,
  subscribe(listener: () => void): () => void {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
  /** Notes the status of a reply; 0: there was none. */
  heard(status: number): void {
    const isAway = status === 0 || status === 502 || status === 503 || status === 504;
    if (!isAway) heardAt = Date.now();
    if (isAway === current.isAway) return;
    current = isAway ? { isAway, since: Date.now() } : { isAway, since: null };
    for (const listener of listeners) listener();
  },
};
