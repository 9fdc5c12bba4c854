import { newId } from '../../ids.ts';
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
  const found = await rows<{ itemId: string }>(
    tx.em,
    `insert into knowledge_findings (id, kb_id, organization_id, workspace_id, run_id, kind, fingerprint, state, item_ids, detail)
     select s.id, i.kb_id, i.organization_id, i.workspace_id, null, 'injection_suspect', i.id::text || ':' || i.content_hash, 'open', array[i.id], jsonb_build_object('rule', s.rule)
       from unnest(?::uuid[], ?::uuid[], ?::text[]) as s (id, item_id, rule) join knowledge_live_items i on i.id = s.item_id order by i.id
     on conflict do nothing returning item_ids[1] as "itemId"`,
    [suspects.map(() => newId()), suspects.map(({ itemId }) => itemId), suspects.map(({ rule }) => rule)],
  );
  return found.map(({ itemId }) => itemId);
}

/** Lowers the trust of items to untrusted. */
export async function distrustItems(tx: Pick<TenantTransaction, 'em'>, itemIds: readonly string[]): Promise<void> {
  if (itemIds.length === 0) return;
  await change(
    tx.em,
    `update knowledge_items set trust = 'untrusted', row_version = row_version + 1, updated_at = now() where id = any (?::uuid[]) and trust <> 'untrusted'`,
    [[...itemIds]],
  );
}
