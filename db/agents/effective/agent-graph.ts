import { sql } from 'kysely';
import { anyId } from '../../expressions.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** How deep agents may delegate to agents: the largest `max_depth` that a run may have. */
export const maxDelegations = 5;

const activationLock = prepared(({ owner }: ParametersOf<{ readonly owner: string }>) =>
  query.selectNoFrom(sql`pg_advisory_xact_lock(hashtextextended('agent-activation:' || ${owner}::text, 0))`.as('locked')),
);

/**
 * Serializes the activations of an organization until the transaction ends: otherwise two that together close a cycle would both pass. Platform agents
 * refer only to platform agents and have a lock of their own.
 */
export async function lockActivations(tx: Pick<TenantTransaction, 'em'>, organizationId: string | null): Promise<void> {
  await rows(tx.em, activationLock({ owner: organizationId ?? 'platform' }));
}

export interface Delegations {
  /** Whether the delegates lead back to the delegating agent. */
  readonly isCyclic: boolean;
  /** The length of the longest chain of delegates, including the first one; counted up to one over the limit. */
  readonly depth: number;
}

const delegations = prepared(
  ({ agentId, askedIds }: ParametersOf<{ readonly agentId: string | null; readonly askedIds: readonly string[] }>) =>
    query
      .withRecursive('asked', (of) =>
        of
          .selectFrom('agents as a')
          .select(['a.id', sql<number>`1`.as('depth')])
          .where('a.id', '=', anyId(askedIds))
          .where('a.deletedAt', 'is', null)
          .union(
            of
              .selectFrom('asked as q')
              .innerJoin('agents as a', 'a.id', 'q.id')
              .innerJoin('agent_refs as f', (join) =>
                join.onRef('f.revisionId', '=', 'a.activeRevisionId').on('f.kind', '=', sql.lit('sub_agent')),
              )
              .innerJoin('agents as b', (join) => join.onRef('b.id', '=', 'f.targetId').on('b.deletedAt', 'is', null))
              .select(['b.id', sql<number>`q.depth + 1`.as('depth')])
              .where('q.depth', '<=', sql.lit(maxDelegations))
              .where('a.id', 'is distinct from', sql<string | null>`${agentId}::uuid`),
          ),
      )
      .selectFrom('asked')
      .select(sql<boolean | null>`bool_or(id = ${agentId}::uuid)`.as('isCyclic'))
      .select(({ fn }) => fn.max<number | null>('depth').as('depth')),
);

/** Follows the active revisions from the agents that a revision delegates to. */
export async function followDelegations(
  tx: Pick<TenantTransaction, 'em'>,
  agentId: string | null,
  askedIds: readonly string[],
): Promise<Delegations> {
  if (askedIds.length === 0) return { isCyclic: false, depth: 0 };
  const found = await row(tx.em, delegations({ agentId, askedIds }));
  return { isCyclic: found?.isCyclic ?? false, depth: found?.depth ?? 0 };
}
