import { fail } from '../../../workflows/contracts/failure.ts';
import type { Scoped } from '../../../db/scope.ts';
import { findMaker, type Maker } from '../../../db/identity/people/creator.ts';

/** Locks the person behind the caller. Throws 401 `session_revoked` when person or credential has ended meanwhile. */
export async function lockMaker(ctx: Scoped): Promise<Maker> {
  return (await findMaker(ctx)) ?? noMaker();
}

function noMaker(): never {
  throw creatorGone();
}

/** 401 for a request whose credential or person has ended while it was running. */
export function creatorGone() {
  return fail('session_revoked');
}
