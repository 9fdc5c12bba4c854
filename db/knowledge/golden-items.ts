import { rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/** Live items of a base by what a golden query names them: their ids or external ids. */
export async function findGoldenItems(
  tx: Pick<TenantTransaction, 'em'>,
  kbId: string,
  names: readonly string[],
): Promise<Map<string, string>> {
  const found = await rows<{ id: string; externalId: string | null }>(
    tx.em,
    `select id, external_id as "externalId" from knowledge_live_items where kb_id = ? and (id::text = any (?::text[]) or external_id = any (?::text[]))`,
    [kbId, [...names], [...names]],
  );
  return new Map(found.flatMap(({ id, externalId }) => [[id, id] as const, ...(externalId === null ? [] : [[externalId, id] as const])]));
}
