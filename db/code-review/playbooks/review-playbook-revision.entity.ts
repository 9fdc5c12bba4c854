import { defineEntity, p } from '@mikro-orm/core';
import type { ReviewTemplates } from '../../../workflows/contracts/review/code-review.ts';
import { createdAtColumn, idColumn, uuidColumn } from '../../columns.ts';
import { tenantIndexes, uniqueIndex } from '../../indexes.ts';
import { tenantPolicies } from '../../policies.ts';

const schema = defineEntity({
  name: 'ReviewPlaybookRevision',
  tableName: 'review_playbook_revisions',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('review_playbook_revisions', 'child'),
  indexes: [
    ...tenantIndexes('review_playbook_revisions'),
    uniqueIndex('review_playbook_revisions', 'number', '(playbook_id, revision_number)'),
  ],
  uniques: [{ name: 'review_playbook_revisions_playbook_key', properties: ['id', 'playbookId'] }],
  properties: {
    id: idColumn(),
    playbookId: uuidColumn(),
    organizationId: uuidColumn().strictNullable(),
    workspaceId: uuidColumn().strictNullable(),
    revisionNumber: p.integer(),
    /** With the defaults filled in. */
    templates: p.json<ReviewTemplates>(),
    /** Of the templates as canonical JSON (sorted keys), in hex. */
    sha256: p.text().fieldName('sha256'),
    note: p.text().strictNullable(),
    createdByUserId: uuidColumn().strictNullable(),
    createdAt: createdAtColumn(),
  },
});

/** A playbook as of one revision; never changed. */
export class ReviewPlaybookRevision extends schema.class {}
schema.setClass(ReviewPlaybookRevision);
