import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, textArrayColumn, uuidColumn } from '../../columns.ts';
import { tenantPolicies } from '../../policies.ts';

const schema = defineEntity({
  name: 'ReviewFile',
  tableName: 'review_files',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('review_files', 'tenant'),
  properties: {
    pullRequestId: uuidColumn().primary(),
    path: p.text().primary(),
    organizationId: uuidColumn(),
    workspaceId: uuidColumn(),
    /** Of the last reviewed head. */
    hunkHashes: textArrayColumn(),
    createdAt: createdAtColumn(),
  },
});

/** The judged hunks of a file. */
export class ReviewFile extends schema.class {}
schema.setClass(ReviewFile);
