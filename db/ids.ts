import { v7 } from 'uuid';

/** Returns a new row id: a UUIDv7 (RFC 9562 §5.7), so ids sort by creation time. */
export function newId(): string {
  return v7();
}

/**
 * Returns the same UUIDv7 for the same `at`, `seq` and `seed`. The caller remembers the time `at`, so work that is repeated after a kill produces the ids
 * that it produced before. Ids of one seed sort by `seq` (at most 2^31 - 1). `seed`: at least 16 bytes, unique to this work.
 */
export function derivedId({ at, seq, seed }: { readonly at: Date; readonly seq: number; readonly seed: Uint8Array }): string {
  return v7({ msecs: at.getTime(), seq, random: seed });
}
