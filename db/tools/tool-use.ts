import { query } from '../query.ts';
import { rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

const maxNamed = 20;

/** Returns the ids of at most 20 agents whose active revision binds the tool. */
export async function agentsUsing(tx: Pick<TenantTransaction, 'em'>, toolId: string): Promise<string[]> {
  const found = await rows(
    tx.em,
    query
      .selectFrom('agent_refs as r')
      .innerJoin('agents as a', 'a.activeRevisionId', 'r.revisionId')
      .select('a.id')
      .where('r.kind', '=', 'tool')
      .where('r.targetId', '=', toolId)
      .where('a.deletedAt', 'is', null)
      .orderBy('a.id')
      .limit(maxNamed),
  );
  return found.map(({ id }) => id);
}
