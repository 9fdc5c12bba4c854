import { sql } from 'kysely';
import { query } from '../../query.ts';
import { queueStatement, row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { usableIn, type Place } from '../../usable-in.ts';

/**
 * The advisory lock on the use of a playbook. A row lock would not do: the policies let no tenant lock a playbook of the platform, and the reference stands in
 * JSON, without a foreign key.
 */
function useKey(playbookId: string) {
  return sql`hashtextextended('review_playbook:' || ${playbookId}, 0)`;
}

/** Whether a binding names the playbook. Waits for bindings that are about to name it, and keeps others from doing so until the transaction ends. */
export async function isNamedByBinding(tx: Pick<TenantTransaction, 'em'>, playbookId: string): Promise<boolean> {
  await queueStatement(tx.em, query.selectNoFrom(sql`pg_advisory_xact_lock(${useKey(playbookId)})`.as('locked')));
  const naming = query
    .selectFrom('repo_bindings as b')
    .select('b.id')
    .where(({ ref }) => sql<boolean>`${ref('b.reviewConfig')} ->> 'playbook_id' = ${playbookId}`)
    .where('b.deletedAt', 'is', null)
    .limit(1);
  return (await row(tx.em, naming)) !== null;
}

/** Whether a binding of the workspace may name a playbook: it exists, is active, and belongs to the workspace or a wider scope. It stays so until the transaction ends. */
export async function isUsablePlaybook(tx: Pick<TenantTransaction, 'em'>, playbookId: string, place: Place): Promise<boolean> {
  await queueStatement(tx.em, query.selectNoFrom(sql`pg_advisory_xact_lock_shared(${useKey(playbookId)})`.as('locked')));
  const usable = query
    .selectFrom('review_playbooks as p')
    .select('p.id')
    .where('p.id', '=', playbookId)
    .where('p.deletedAt', 'is', null)
    .where('p.isActive', '=', sql.lit(true))
    .where(usableIn(place, 'p'));
  return (await row(tx.em, usable)) !== null;
}
