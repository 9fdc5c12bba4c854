import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, idColumn, timeColumn, uuidColumn } from '../columns.ts';
import { index, uniqueIndex } from '../indexes.ts';
import { tenantPolicies } from '../policies.ts';

export const attachmentOwnerKinds = ['run', 'source', 'knowledge_run', 'evaluation', 'skill'] as const;

const schema = defineEntity({
  name: 'AttachmentLink',
  tableName: 'attachment_links',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('attachment_links', 'tenant'),
  indexes: [
    index('attachment_links', 'owner', '(owner_kind, owner_id)'),
    uniqueIndex('attachment_links', 'link', '(attachment_id, owner_kind, owner_id)'),
  ],
  properties: {
    id: idColumn(),
    attachmentId: uuidColumn(),
    organizationId: uuidColumn(),
    /** Null: the organization's, like the files of its skills. */
    workspaceId: uuidColumn().strictNullable(),
    ownerKind: p.enum(attachmentOwnerKinds),
    ownerId: uuidColumn(),
    conversationId: uuidColumn().strictNullable(),
    until: timeColumn().strictNullable(),
    createdAt: createdAtColumn(),
  },
});

/** What an attachment belongs to, which determines who sees it. */
export class AttachmentLink extends schema.class {}
schema.setClass(AttachmentLink);
