import { sql } from 'kysely';
import { newId } from '../ids.ts';
import { query } from '../query.ts';
import type { Scoped } from '../scope.ts';
import { row } from '../sql.ts';
import { impersonationColumns, type ImpersonationTarget, type ImpersonationRow } from './impersonations.ts';

/** Stores an impersonation that begins now, by the database's clock. */
export async function insertImpersonation(
  { em, caller }: Scoped,
  target: ImpersonationTarget,
  { reason, minutes, tokenHash }: { readonly reason: string; readonly minutes: number; readonly tokenHash: Buffer },
): Promise<ImpersonationRow> {
  if (caller.principalId === null) throw new Error('an operator is a user');
  const made = await row(
    em,
    query
      .insertInto('impersonations')
      .values({
        id: newId(),
        operatorUserId: caller.principalId,
        targetUserId: target.id,
        organizationId: target.organizationId,
        workspaceId: target.workspaceId,
        reason,
        tokenHash,
        startedAt: sql<string>`now()`,
        expiresAt: sql<string>`now() + make_interval(mins => ${minutes})`,
      })
      .returning(impersonationColumns),
  );
  if (!made) throw new Error('an inserted impersonation was not returned');
  return made;
}

/** Ends an open impersonation: its token and stream tokens are invalid from the commit on. */
export async function writeEnd(ctx: Scoped, id: string): Promise<ImpersonationRow> {
  const ended = await row(
    ctx.em,
    query
      .updateTable('impersonations')
      .set({ endedAt: sql<string>`clock_timestamp()`, endedByUserId: ctx.caller.principalId })
      .where('id', '=', id)
      .returning(impersonationColumns),
  );
  if (!ended) throw new Error('a locked impersonation was not ended');
  return ended;
}
