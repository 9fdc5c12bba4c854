import { v7 } from 'uuid';

/** A new row id: UUIDv7 (RFC 9562 §5.7), so ids sort by the time of making. */
export function newId(): string {
  return v7();
}
