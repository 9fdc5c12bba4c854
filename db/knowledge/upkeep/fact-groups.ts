import { sql } from 'kysely';
import { anyId } from '../../expressions.ts';
import { query } from '../../query.ts';
import { change, row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { KnowledgeFact } from '../items/knowledge-item.entity.ts';
import type { FactItem, ItemRange } from './facts.ts';
import { standingStates, normal, statingItems } from './stating-items.ts';

type Tx = Pick<TenantTransaction, 'em'>;

/** An item of a group about one subject. */
interface GroupedItem extends FactItem {
  readonly trust: string;
  readonly fact: KnowledgeFact;
}

/** Items about the same subject. */
export type FactGroup = NonNullable<Awaited<ReturnType<typeof findFactGroup>>>;

/** Returns the next group, by subject after `after`, of at least three items with a fact about one subject: its 20 newest. Null when there are no more. */
export function findFactGroup(tx: Tx, kbId: string, { after, ids, includePending }: ItemRange & { readonly includePending: boolean }) {
  const items = sql<GroupedItem[]>`jsonb_agg(
    jsonb_build_object('id', x.id, 'content', left(x.content, 4000), 'hash', x.content_hash, 'trust', x.trust, 'fact', x.fact) order by x.id)`;
  let wanted = query
    .selectFrom(statingItems(kbId).as('i'))
    .where('i.fact', 'is not', null)
    .select(['i.id', 'i.content', 'i.contentHash', 'i.trust', 'i.fact'])
    .select(normal(sql`i.fact ->> 'subject'`).as('subject'));
  if (!includePending) wanted = wanted.where('i.curationState', '<>', 'pending');
  if (ids !== null) wanted = wanted.where('i.id', '=', anyId(ids));
  return row(
    tx.em,
    query
      .with(
        (cte) => cte('wanted').materialized(),
        () => wanted,
      )
      .with('next', (of) =>
        of
          .selectFrom('wanted as w')
          .$if(after !== null, (behind) => behind.where(sql<boolean>`w.subject > ${after}::text collate "C"`))
          .where('w.subject', '<>', '')
          .groupBy('w.subject')
          .having(sql<boolean>`count(*) >= 3`)
          .select('w.subject')
          .orderBy(sql`w.subject collate "C"`)
          .limit(1),
      )
      .selectFrom(({ selectFrom }) =>
        selectFrom('wanted as w')
          .innerJoin('next as n', 'n.subject', 'w.subject')
          .select(['w.id', 'w.content', 'w.contentHash', 'w.trust', 'w.fact', 'w.subject'])
          .orderBy('w.id', 'desc')
          .limit(20)
          .as('x'),
      )
      .groupBy('x.subject')
      .select(['x.subject', items.as('items')]),
  );
}

/** Returns the valid summaries that maintenance created from items about a subject, oldest first. */
export async function findSummaries(tx: Tx, kbId: string, subject: string): Promise<string[]> {
  const found = await rows(
    tx.em,
    query
      .selectFrom('knowledge_live_items as s')
      .where('s.kbId', '=', kbId)
      .where('s.kind', '=', 'summary')
      .where('s.origin', '=', 'derived')
      .where('s.externalId', 'like', 'summary:%')
      .where('s.curationState', 'in', standingStates)
      .where(({ eb, exists, or, ref, selectFrom }) =>
        or([
          eb(normal(ref('s.title')), '=', subject),
          exists(
            selectFrom('knowledge_relations as r')
              .innerJoin('knowledge_items as i', 'i.id', 'r.toItemId')
              .whereRef('r.fromItemId', '=', 's.id')
              .where('r.type', '=', 'derived_from')
              .where(normal(sql`i.fact ->> 'subject'`), '=', subject)
              .select('r.id'),
          ),
        ]),
      )
      .select('s.id')
      .orderBy('s.id'),
  );
  return found.map(({ id }) => id);
}

/**
 * Counts the summaries that maintenance created from the same items with the same contents, whose external ids begin with this one, and returns whether one
 * of them counts. A summary that a newer summary replaced does not count; one that a person retired or replaced does, since its text was judged.
 */
export async function findSummariesOf(tx: Tx, kbId: string, externalId: string) {
  const wasReplaced = sql<boolean>`(s.curation_state = 'superseded' and n.kind = 'summary' and n.origin = 'derived' and n.id > s.id)`;
  const found = await row(
    tx.em,
    query
      .selectFrom('knowledge_live_items as s')
      .leftJoin('knowledge_items as n', 'n.id', 's.supersededById')
      .where('s.kbId', '=', kbId)
      .where(({ eb, or }) => or([eb('s.externalId', '=', externalId), eb('s.externalId', 'like', `${externalId}:%`)]))
      .select([
        sql<number>`count(*)`.as('written'),
        sql<boolean>`coalesce(bool_or(not ${wasReplaced} or n.id is null), false)`.as('isThere'),
      ]),
  );
  return found ?? { written: 0, isThere: false };
}

/** Records that a base was consolidated just now; the base itself does not change. */
export async function markConsolidated(tx: Tx, kbId: string): Promise<void> {
  await change(
    tx.em,
    query
      .updateTable('knowledge_bases')
      .set(({ ref }) => ({ lastConsolidatedAt: sql<string>`now()`, updatedAt: ref('updatedAt') }))
      .where('id', '=', kbId),
  );
}
