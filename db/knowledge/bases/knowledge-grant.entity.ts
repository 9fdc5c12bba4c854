import { defineEntity, p } from '@mikro-orm/core';
import { roles } from '../../../workflows/contracts/access.ts';
import { createdAtColumn, idColumn, timeColumn, updatedAtColumn, uuidColumn, versionColumn } from '../../columns.ts';
import { index, tenantIndexes, uniqueIndex } from '../../indexes.ts';
import { tenantPolicies } from '../../policies.ts';

export const knowledgePrincipalKinds = ['agent', 'persona', 'user', 'role', 'workspace'] as const;
export type KnowledgePrincipalKind = (typeof knowledgePrincipalKinds)[number];
/** Each access includes those before it. */
export const knowledgeAccesses = ['read', 'write', 'curate', 'manage'] as const;
export type KnowledgeAccess = (typeof knowledgeAccesses)[number];

const schema = defineEntity({
  name: 'KnowledgeGrant',
  tableName: 'knowledge_grants',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('knowledge_grants', 'child'),
  indexes: [
    ...tenantIndexes('knowledge_grants'),
    uniqueIndex('knowledge_grants', 'principal', '(kb_id, principal_kind, principal_id, role) nulls not distinct'),
    index('knowledge_grants', 'principal', '(principal_kind, principal_id)'),
  ],
  checks: [
    {
      name: 'knowledge_grants_principal',
      expression: "(principal_kind = 'role') = (role is not null) and (principal_kind = 'role') = (principal_id is null)",
    },
  ],
  properties: {
    id: idColumn(),
    kbId: uuidColumn(),
    organizationId: uuidColumn().strictNullable(),
    workspaceId: uuidColumn().strictNullable(),
    principalKind: p.enum(knowledgePrincipalKinds),
    /** Null: the grant is for a role. */
    principalId: uuidColumn().strictNullable(),
    /** This role and those above it. */
    role: p.enum(roles).strictNullable(),
    access: p.enum(knowledgeAccesses),
    expiresAt: timeColumn().strictNullable(),
    createdByUserId: uuidColumn().strictNullable(),
    version: versionColumn(),
    createdAt: createdAtColumn(),
    updatedAt: updatedAtColumn(),
  },
});

/** Access to a base in addition to what its scope allows. */
export class KnowledgeGrant extends schema.class {}
schema.setClass(KnowledgeGrant);
