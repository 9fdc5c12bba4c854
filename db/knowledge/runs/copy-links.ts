import { sql } from 'kysely';
import { query } from '../../query.ts';
import { change, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { BasePair } from './base-pair.ts';
import { copyOf, none, oneBase, withNewIds } from './copies.ts';

type Tx = Pick<TenantTransaction, 'em'>;

/** Copies the links between items: successors and relations. Repeatable. Returns the number of relations written. */
export async function copyLinks(tx: Tx, { from, to }: BasePair): Promise<number> {
  await copySuccessors(tx, { from, to });
  const lacking = await rows(
    tx.em,
    query
      .selectFrom('knowledge_relations as r')
      .crossJoin(oneBase(to.id))
      .where('r.kbId', '=', from.id)
      .where(
        sql<boolean>`not exists (
          select from (select id from knowledge_items f where f.kb_id = b.id and f.predecessor_item_id = r.from_item_id offset 0) f
            cross join (select id from knowledge_items t where t.kb_id = b.id and t.predecessor_item_id = r.to_item_id offset 0) t
            join knowledge_relations x on x.from_item_id = f.id and x.to_item_id = t.id and x.type = r.type offset 0)`,
      )
      .select('r.id')
      .orderBy('r.id')
      .limit(20_000),
  );
  if (lacking.length === 0) return 0;
  const ids = lacking.map(({ id }) => id);
  return change(
    tx.em,
    query
      .insertInto('knowledge_relations')
      .columns(['id', 'kbId', 'organizationId', 'workspaceId', 'fromItemId', 'toItemId', 'type', 'note', 'createdBy', 'createdAt'])
      .expression(({ selectFrom }) =>
        selectFrom(withNewIds(ids))
          .innerJoin('knowledge_relations as r', 'r.id', 'v.oldId')
          .crossJoin(oneBase(to.id))
          .crossJoinLateral(({ ref }) => copyOf(ref('r.fromItemId')).as('f'))
          .crossJoinLateral(({ ref }) => copyOf(ref('r.toItemId')).as('t'))
          .select(['v.id', 'f.kbId', 'f.organizationId', 'f.workspaceId', 'f.id as fromItemId', 't.id as toItemId'])
          .select(['r.type', 'r.note', 'r.createdBy', 'r.createdAt']),
      )
      .onConflict((conflict) => conflict.doNothing()),
  );
}

/** Links the copies of superseded items to the copies of their successors. */
async function copySuccessors(tx: Tx, { from, to }: BasePair): Promise<void> {
  const links = query
    .selectFrom('knowledge_items as s')
    .crossJoin(oneBase(to.id))
    .crossJoinLateral(({ ref }) => copyOf(ref('s.id')).as('c'))
    .crossJoinLateral(({ ref }) => copyOf(ref('s.supersededById')).as('m'))
    .where('s.kbId', '=', from.id)
    .where('s.supersededById', 'is not', null)
    .select(['c.id', 'm.id as successorId'])
    .offset(none);
  await change(
    tx.em,
    query
      .updateTable('knowledge_items')
      .from(links.as('x'))
      .set(({ ref }) => ({ supersededById: ref('x.successorId'), updatedAt: ref('knowledge_items.updatedAt') }))
      .whereRef('knowledge_items.id', '=', 'x.id')
      .whereRef('knowledge_items.supersededById', 'is distinct from', 'x.successorId'),
  );
}
