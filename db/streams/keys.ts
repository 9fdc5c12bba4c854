const partitions = 64;

/** Names in Redis of one deployment; the prefix separates deployments on one server, channels included. */
export interface StreamKeys {
  /** The stream of one run; its partition is the hash tag, so a cluster spreads runs over 64 slots. */
  run(runId: string): string;
  /** The control stream that wakes the blocking reader of one API process. */
  control(processId: string): string;
  readonly cancelChannel: string;
  readonly revokedChannel: string;
}

/** Builds the names under a prefix (`REDIS_PREFIX`, which may be empty). */
export function streamKeys(prefix: string): StreamKeys {
  return {
    run: (runId) => `${prefix}{p${partitionOf(runId)}}:run:${runId}:s`,
    control: (processId) => `${prefix}{p${partitionOf(processId)}}:ctl:${processId}`,
    cancelChannel: `${prefix}cancel`,
    revokedChannel: `${prefix}revoked`,
  };
}

/** Returns the partition of an id: its last byte modulo 64. The last byte of a UUIDv7 is random, so partitions fill evenly. */
export function partitionOf(id: string): number {
  return Number.parseInt(id.slice(-2), 16) % partitions;
}
