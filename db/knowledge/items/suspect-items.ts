import { sql } from 'kysely';
import { newId } from '../../ids.ts';
import { query } from '../../query.ts';
import { change, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** An item whose text contains instructions to a model, and the rule that detected them. */
export interface SuspectItem {
  readonly itemId: string;
  readonly rule: string;
}

/** Writes a finding for a curator about each live item, at most one per item and content. Returns the items that got a new finding. */
export async function writeSuspects(tx: Pick<TenantTransaction, 'em'>, suspects: readonly SuspectItem[]): Promise<string[]> {
  if (suspects.length === 0) return [];
  const ids = suspects.map(() => newId());
  const itemIds = suspects.map(({ itemId }) => itemId);
  const rules = suspects.map(({ rule }) => rule);
  const suspected = sql<{ id: string; itemId: string; rule: string }>`unnest(${ids}::uuid[], ${itemIds}::uuid[], ${rules}::text[])`;
  const found = await rows(
    tx.em,
    query
      .insertInto('knowledge_findings')
      .columns(['id', 'kbId', 'organizationId', 'workspaceId', 'runId', 'kind', 'fingerprint', 'state', 'itemIds', 'detail'])
      .expression(
        query
          .selectFrom(suspected.as<'s'>(sql`s (id, item_id, rule)`))
          .innerJoin('knowledge_live_items as i', 'i.id', 's.itemId')
          .select(['s.id', 'i.kbId', 'i.organizationId', 'i.workspaceId', sql<null>`null::uuid`.as('runId')])
          .select([sql.lit('injection_suspect').as('kind'), sql<string>`i.id::text || ':' || i.content_hash`.as('fingerprint')])
          .select([sql.lit('open').as('state'), sql<string[]>`array[i.id]`.as('itemIds')])
          .select(sql`jsonb_build_object('rule', s.rule)`.as('detail'))
          .orderBy('i.id'),
      )
      .onConflict((conflict) => conflict.doNothing())
      .returning(sql<string>`item_ids[1]`.as('itemId')),
  );
  return found.map(({ itemId }) => itemId);
}

/** Lowers the trust of items to untrusted. */
export async function distrustItems(tx: Pick<TenantTransaction, 'em'>, itemIds: readonly string[]): Promise<void> {
  if (itemIds.length === 0) return;
  await change(
    tx.em,
    query
      .updateTable('knowledge_items')
      .set(({ eb }) => ({ trust: 'untrusted', rowVersion: eb('rowVersion', '+', 1), updatedAt: sql<string>`now()` }))
      .where(sql<boolean>`id = any (${itemIds}::uuid[])`)
      .where('trust', '<>', 'untrusted'),
  );
}
