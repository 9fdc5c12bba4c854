import { defineEntity, p } from '@mikro-orm/core';
import { scopes } from '../../../workflows/contracts/access.ts';
import { createdAtColumn, idColumn, timeColumn, updatedAtColumn, uuidColumn, versionColumn } from '../../columns.ts';
import { rowScopeCheck, scopedIndexes, slugIndexes, uniqueIndex } from '../../indexes.ts';
import { tenantPolicies } from '../../policies.ts';

const schema = defineEntity({
  name: 'ReviewPlaybook',
  tableName: 'review_playbooks',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('review_playbooks', 'scoped'),
  indexes: [
    ...scopedIndexes('review_playbooks'),
    ...slugIndexes('review_playbooks'),
    uniqueIndex(
      'review_playbooks',
      'default',
      '(scope, organization_id, workspace_id) nulls not distinct where is_default and deleted_at is null',
    ),
  ],
  uniques: [{ name: 'review_playbooks_tenant_key', properties: ['id', 'organizationId'] }],
  checks: [rowScopeCheck('review_playbooks')],
  properties: {
    id: idColumn(),
    scope: p.enum(scopes),
    organizationId: uuidColumn().strictNullable(),
    workspaceId: uuidColumn().strictNullable(),
    slug: p.text(),
    name: p.text(),
    description: p.text().strictNullable(),
    /** Used by bindings that name no playbook; at most one per owner of its scope. */
    isDefault: p.boolean().default(false),
    isActive: p.boolean().default(true),
    activeRevisionId: uuidColumn().strictNullable(),
    version: versionColumn(),
    createdAt: createdAtColumn(),
    updatedAt: updatedAtColumn(),
    deletedAt: timeColumn().strictNullable(),
  },
});

/** How pull requests are reviewed: prompts, rules and limits, which its active revision holds. */
export class ReviewPlaybook extends schema.class {}
schema.setClass(ReviewPlaybook);
