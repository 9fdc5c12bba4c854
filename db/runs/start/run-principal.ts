import { sql } from 'kysely';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** In whose name a run works; a later run that it schedules inherits this. */
export interface RunPrincipal {
  readonly agentId: string;
  /** The user who started the run, or in whose name it was started; null for programs that act on their own behalf. */
  readonly userId: string | null;
  readonly subject: { readonly kind: 'user' | 'guest'; readonly id: string } | null;
}

const principalOf = prepared(({ runId }: ParametersOf<{ readonly runId: string }>) =>
  query
    .selectFrom('runs as r')
    .where('r.id', '=', runId)
    .select(['r.agentId', 'r.subjectKind', 'r.subjectId'])
    .select(
      sql<string | null>`coalesce(r.created_by_acting_user_id, case when r.created_by_kind = 'user' then r.created_by_id end)`.as('userId'),
    ),
);

/** Returns the principal of a run, or null when the run does not exist. */
export async function readRunPrincipal(tx: TenantTransaction, runId: string): Promise<RunPrincipal | null> {
  const found = await row(tx.em, principalOf({ runId }));
  if (!found) return null;
  const { agentId, userId, subjectKind: kind, subjectId: id } = found;
  return { agentId, userId, subject: kind === null || id === null ? null : { kind, id } };
}
