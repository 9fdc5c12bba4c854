import { fail } from '../../../workflows/contracts/failure.ts';
import type { Scoped } from '../../../db/scope.ts';
import { findCreator, type Creator } from '../../../db/identity/people/creator.ts';

/** Locks the person behind the caller. Throws 401 `session_revoked` when person or credential has ended meanwhile. */
export async function lockCreator(ctx: Scoped): Promise<Creator> {
  return (await findCreator(ctx)) ?? throwCreatorLost();
}

function throwCreatorLost(): never {
  throw creatorLost();
}

/** 401 for a request whose credential or person has ended while it was running. */
export function creatorLost() {
  return fail('session_revoked');
}
