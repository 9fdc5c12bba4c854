import { defineEntity, p } from '@mikro-orm/core';
import type { ActorRef } from '../actor-ref.ts';
import { bigintColumn, createdAtColumn, idColumn, timeColumn, uuidColumn } from '../columns.ts';
import { index, tenantIndexes, uniqueIndex } from '../indexes.ts';
import { tenantPolicies } from '../policies.ts';

export const attachmentPurposes = ['run_input', 'knowledge', 'skill', 'toolkit', 'other'] as const;
export const attachmentStates = ['scanning', 'ready', 'rejected'] as const;

const schema = defineEntity({
  name: 'Attachment',
  tableName: 'attachments',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('attachments', 'tenant'),
  indexes: [
    ...tenantIndexes('attachments'),
    index('attachments', 'expires', '(expires_at) where expires_at is not null'),
    uniqueIndex('attachments', 'storage', '(storage_key)'),
  ],
  uniques: [{ name: 'attachments_tenant_key', properties: ['id', 'organizationId'] }],
  properties: {
    id: idColumn(),
    organizationId: uuidColumn(),
    /** Null: the organization's, like the files of its skills. */
    workspaceId: uuidColumn().strictNullable(),
    filename: p.text(),
    mediaType: p.text(),
    sizeBytes: bigintColumn(),
    sha256: p.text(),
    purpose: p.enum(attachmentPurposes),
    state: p.enum(attachmentStates),
    createdBy: p.json<ActorRef>(),
    storageKey: p.text(),
    expiresAt: timeColumn().strictNullable(),
    createdAt: createdAtColumn(),
  },
});

/** A file: metadata here, bytes in storage under a random key. */
export class Attachment extends schema.class {}
schema.setClass(Attachment);
