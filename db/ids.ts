import { v7 } from 'uuid';

/** A new row id: UUIDv7 (RFC 9562 §5.7), so ids sort by the time of making. */
export function newId(): string {
  return v7();
}

/**
 * The same id for the same `seed` and `seq`, as UUIDv7 of a time that the caller remembers: whoever repeats a piece of work after a kill makes the ids that it
 * made before. Ids of one seed sort by `seq` (at most 2^31 - 1). `seed`: at least 16 bytes that nobody else has.
 */
export function derivedId({ at, seq, seed }: { readonly at: Date; readonly seq: number; readonly seed: Uint8Array }): string {
  return v7({ msecs: at.getTime(), seq, random: seed });
}
