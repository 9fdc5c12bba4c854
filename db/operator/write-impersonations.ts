import { newId } from '../ids.ts';
import type { Scoped } from '../scope.ts';
import { row } from '../sql.ts';
import { columns, type ImpersonationTarget, type ImpersonationRow } from './impersonations.ts';

/** Stores an impersonation that begins now, by the database's clock. */
export async function insertImpersonation(
  ctx: Scoped,
  target: ImpersonationTarget,
  { reason, minutes, tokenHash }: { readonly reason: string; readonly minutes: number; readonly tokenHash: Buffer },
): Promise<ImpersonationRow> {
  const made = await row<ImpersonationRow>(
    ctx.em,
    `insert into impersonations as i (id, operator_user_id, target_user_id, organization_id, workspace_id, reason, token_hash, started_at, expires_at)
     values (?, ?, ?, ?, ?, ?, ?, now(), now() + make_interval(mins => ?)) returning ${columns}`,
    [newId(), ctx.caller.principalId, target.id, target.organizationId, target.workspaceId, reason, tokenHash, minutes],
  );
  if (!made) throw new Error('an inserted impersonation was not returned');
  return made;
}

/** Ends an open impersonation: its token and stream tokens are invalid from the commit on. */
export async function writeEnd(ctx: Scoped, id: string): Promise<ImpersonationRow> {
  const ended = await row<ImpersonationRow>(
    ctx.em,
    `update impersonations i set ended_at = clock_timestamp(), ended_by_user_id = ? where i.id = ? returning ${columns}`,
    [ctx.caller.principalId, id],
  );
  if (!ended) throw new Error('a locked impersonation was not ended');
  return ended;
}
