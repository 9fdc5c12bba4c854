/** Bounds of one API process; tests and deployments may change them. */
export interface HubLimits {
  readonly streamsPerPrincipal: number;
  readonly streams: number;
  /** Stream connects that query the database at the same time: fewer than the pool has connections. */
  readonly maxConnectsAtOnce: number;
  /** How long a stream connect waits in its queue before it gets 503. */
  readonly maxConnectMs: number;
  /** How long it waits while no other completes: the database does not respond. Shorter than the timeout of a statement. */
  readonly maxConnectSilentMs: number;
  /** Unsent bytes at which a connection is sent nothing more until it has drained. */
  readonly unsentBytes: number;
  /** A slow connection without progress for this long is closed. */
  readonly stallMs: number;
  readonly heartbeatMs: number;
  readonly maxAgeMs: number;
  readonly headsMs: number;
  readonly headsWithoutRedisMs: number;
  readonly accessMs: number;
  readonly ringFrames: number;
  readonly ringBytes: number;
  readonly runsPerReader: number;
}

export const defaultHubLimits: HubLimits = {
  streamsPerPrincipal: 50,
  streams: 10_000,
  maxConnectsAtOnce: 4,
  maxConnectMs: 20_000,
  maxConnectSilentMs: 9_000,
  unsentBytes: 256 * 1024,
  stallMs: 30_000,
  heartbeatMs: 15_000,
  maxAgeMs: 3_600_000,
  headsMs: 5_000,
  headsWithoutRedisMs: 1_000,
  accessMs: 5_000,
  ringFrames: 1_000,
  ringBytes: 1024 * 1024,
  runsPerReader: 2_000,
};
