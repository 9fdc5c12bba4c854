import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** In whose name a run works; a later run that it schedules inherits this. */
export interface RunPrincipal {
  readonly agentId: string;
  /** The user who started the run, or in whose name it was started; null for programs that act on their own behalf. */
  readonly userId: string | null;
  readonly subject: { readonly kind: 'user' | 'guest'; readonly id: string } | null;
}

/** Returns the principal of a run, or null when the run does not exist. */
export async function readRunPrincipal(tx: TenantTransaction, runId: string): Promise<RunPrincipal | null> {
  const found = await row<{
    agent_id: string;
    user_id: string | null;
    subject_kind: 'user' | 'guest' | null;
    subject_id: string | null;
  }>(
    tx.em,
    `select r.agent_id, coalesce(r.created_by_acting_user_id, case when r.created_by_kind = 'user' then r.created_by_id end) as user_id, r.subject_kind, r.subject_id
       from runs r where r.id = ?`,
    [runId],
  );
  if (!found) return null;
  const { subject_kind: kind, subject_id: id } = found;
  return { agentId: found.agent_id, userId: found.user_id, subject: kind === null || id === null ? null : { kind, id } };
}
