import type { KnowledgeItem } from '../../db/knowledge/items/knowledge-item.entity.ts';
import type { AuditNote } from '../http/operation/operation.ts';

/** The audit note of an item: none of its words, since entries outlive a purge. */
export function noteOfItem(
  { id, organizationId, workspaceId }: Pick<KnowledgeItem, 'id' | 'organizationId' | 'workspaceId'>,
  changes: AuditNote['changes'] = {},
): AuditNote {
  return { resourceType: 'knowledge_item', resourceId: id, organizationId, workspaceId, changes };
}
