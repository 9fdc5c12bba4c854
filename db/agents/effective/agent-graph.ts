import { row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** How deep agents may delegate to agents: the largest `max_depth` that a run may have. */
export const limitDelegations = 5;

/**
 * Serializes the activations of an organization until the transaction ends: otherwise two that together close a cycle would both pass. Platform agents
 * refer only to platform agents and have a lock of their own.
 */
export async function lockActivations(tx: Pick<TenantTransaction, 'em'>, organizationId: string | null): Promise<void> {
  await rows(tx.em, `select pg_advisory_xact_lock(hashtextextended('agent-activation:' || ?::text, 0))`, [organizationId ?? 'platform']);
}

export interface Delegations {
  /** Whether the delegates lead back to the delegating agent. */
  readonly isCyclic: boolean;
  /** The length of the longest chain of delegates, including the first one; counted up to one over the limit. */
  readonly depth: number;
}

/** Follows the active revisions from the agents that a revision delegates to. */
export async function followDelegations(
  tx: Pick<TenantTransaction, 'em'>,
  agentId: string | null,
  askedIds: readonly string[],
): Promise<Delegations> {
  if (askedIds.length === 0) return { isCyclic: false, depth: 0 };
  const found = await row<{ is_cyclic: boolean | null; depth: number | null }>(
    tx.em,
    `with recursive asked as (
       select a.id, 1 as depth from agents a where a.id = any (?::uuid[]) and a.deleted_at is null
       union
       select b.id, q.depth + 1 from asked q
         join agents a on a.id = q.id
         join agent_refs f on f.revision_id = a.active_revision_id and f.kind = 'sub_agent'
         join agents b on b.id = f.target_id and b.deleted_at is null
        where q.depth <= ${limitDelegations} and a.id is distinct from ?::uuid
     )
     select bool_or(id = ?::uuid) as is_cyclic, max(depth) as depth from asked`,
    [askedIds, agentId, agentId],
  );
  return { isCyclic: found?.is_cyclic ?? false, depth: found?.depth ?? 0 };
}
