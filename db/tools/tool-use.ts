import { rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

const maxNamed = 20;

/** Ids of at most 20 agents whose active revision binds the tool. */
export async function agentsUsing(tx: Pick<TenantTransaction, 'em'>, toolId: string): Promise<string[]> {
  const found = await rows<{ id: string }>(
    tx.em,
    `select a.id from agent_refs r join agents a on a.active_revision_id = r.revision_id
      where r.kind = 'tool' and r.target_id = ? and a.deleted_at is null order by a.id limit ${maxNamed}`,
    [toolId],
  );
  return found.map(({ id }) => id);
}
