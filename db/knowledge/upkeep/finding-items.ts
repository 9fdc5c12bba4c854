import { change, rows } from '../../sql.ts';
import type { CurationState } from '../../skills/skill.entity.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { KnowledgeEvidence, KnowledgeTrust } from '../items/knowledge-item.entity.ts';

/** The columns of an item that a resolution reads and changes. */
export interface FindingItem {
  readonly id: string;
  readonly curationState: CurationState;
  readonly trust: KnowledgeTrust;
  readonly supersededById: string | null;
  readonly evidence: readonly KnowledgeEvidence[];
  readonly contentHash: string;
  readonly rowVersion: number;
}

/** Locks and returns live items of a base, in the order of their ids. */
export function lockFindingItems(tx: Pick<TenantTransaction, 'em'>, kbId: string, ids: readonly string[]): Promise<FindingItem[]> {
  return rows(
    tx.em,
    `select id, curation_state as "curationState", trust, superseded_by_id as "supersededById", evidence, content_hash as "contentHash", row_version as "rowVersion"
       from knowledge_items where kb_id = ? and id = any (?::uuid[]) and deleted_at is null and staged_run_id is null order by id for update`,
    [kbId, [...ids]],
  );
}

/** What a resolution changes on a locked item. */
export type ItemChange = Pick<FindingItem, 'id' | 'curationState' | 'trust' | 'supersededById' | 'evidence'>;

/** Writes states and links of an item; its content stays. */
export async function writeFindingItem(
  tx: Pick<TenantTransaction, 'em'>,
  { id, curationState, trust, supersededById, evidence }: ItemChange,
): Promise<void> {
  await change(
    tx.em,
    `update knowledge_items set curation_state = ?, trust = ?, superseded_by_id = ?, evidence = ?::jsonb, row_version = row_version + 1, updated_at = now() where id = ?`,
    [curationState, trust, supersededById, JSON.stringify(evidence), id],
  );
}
