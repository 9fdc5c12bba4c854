import { curationStates } from '../../workflows/contracts/knowledge/curation.ts';
import { defineEntity, p } from '@mikro-orm/core';
import { scopes } from '../../workflows/contracts/access.ts';
import type { ActorRef } from '../actor-ref.ts';
import type { StoredReferenceDoc } from './reference-doc.ts';
import { createdAtColumn, idColumn, jsonColumn, timeColumn, updatedAtColumn, uuidColumn, versionColumn } from '../columns.ts';
import { index, rowScopeCheck, scopedIndexes, slugIndexes } from '../indexes.ts';
import { tenantPolicies } from '../policies.ts';

export const skillOrigins = ['human', 'agent', 'import', 'derived'] as const;
export type SkillOrigin = (typeof skillOrigins)[number];

const schema = defineEntity({
  name: 'Skill',
  tableName: 'skills',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('skills', 'scoped'),
  indexes: [
    ...scopedIndexes('skills'),
    ...slugIndexes('skills'),
    index('skills', 'owner_agent', '(owner_agent_id, id desc) where owner_agent_id is not null'),
  ],
  uniques: [{ name: 'skills_tenant_key', properties: ['id', 'organizationId'] }],
  checks: [rowScopeCheck('skills')],
  properties: {
    id: idColumn(),
    scope: p.enum(scopes),
    organizationId: uuidColumn().strictNullable(),
    workspaceId: uuidColumn().strictNullable(),
    ownerAgentId: uuidColumn().strictNullable(),
    /** Private to this user’s reads and runs, and to admins. */
    ownerUserId: uuidColumn().strictNullable(),
    slug: p.text(),
    description: p.text(),
    instructions: p.text(),
    referenceDocs: jsonColumn<StoredReferenceDoc[]>(() => []),
    frontMatter: p.json<Record<string, unknown>>().strictNullable(),
    contentHash: p.text(),
    version: p.integer().default(1),
    promotedVersion: p.integer().strictNullable(),
    /** Versions that were promoted since the skill last began as pending: a binding may pin these. */
    promotedVersions: jsonColumn<number[]>(() => []),
    supersededBy: uuidColumn().strictNullable(),
    curationState: p.enum(curationStates).default('pending'),
    origin: p.enum(skillOrigins),
    useCount: p.integer().default(0),
    lastUsedAt: timeColumn().strictNullable(),
    isActive: p.boolean().default(true),
    createdBy: p.json<ActorRef>(),
    rowVersion: versionColumn(),
    createdAt: createdAtColumn(),
    updatedAt: updatedAtColumn(),
    deletedAt: timeColumn().strictNullable(),
  },
});

/** Curated text that an agent loads when it needs it. */
export class Skill extends schema.class {}
schema.setClass(Skill);
