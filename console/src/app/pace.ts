/** How often the API lets this browser ask. One tab that is told to wait tells all others: they share the quota. */
export interface Pace {
  /** Until when the API wants no requests, in milliseconds since the epoch; 0: it has not asked for a pause. */
  readonly pausedUntil: number;
}

const channel = new BroadcastChannel('longhaul-pace');
const listeners = new Set<() => void>();
/** After a pause, views are read again this much more rarely, for a while. */
const slowedBy = 4;
const slowForMs = 60_000;
let current: Pace = { pausedUntil: 0 };

channel.addEventListener('message', ({ data }: MessageEvent<number>) => wait(data));

export const pace = {
  get: () => current,
  subscribe(listener: () => void): () => void {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
  /** The API has refused a request because too many have come; it wants none for so long. */
  pause(seconds: number): void {
    const until = Date.now() + seconds * 1_000;
    wait(until);
    channel.postMessage(until);
  },
  /** How long to wait between two looks at the same thing, where `ms` is usual. */
  interval(ms: number): number {
    return Date.now() < current.pausedUntil + slowForMs && current.pausedUntil > 0 ? ms * slowedBy : ms;
  },
};

function wait(until: number): void {
  if (until <= current.pausedUntil) return;
  current = { pausedUntil: until };
  for (const listener of listeners) listener();
}
