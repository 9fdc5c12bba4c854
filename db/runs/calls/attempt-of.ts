import { type Expression, sql } from 'kysely';
import type { CallInFlight } from './call-in-flight.ts';

/** The try whose call is in flight; null where none is. */
export function attemptOf<C extends CallInFlight | null>(inFlight: Expression<C>) {
  return sql<number | Extract<C, null>>`(${inFlight} ->> 'attempt')::int`;
}
