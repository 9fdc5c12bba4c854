import { defineEntity, p } from '@mikro-orm/core';
import type { ActorRef } from '../actor-ref.ts';
import type { StoredReferenceDoc } from './reference-doc.ts';
import { skillOrigins } from './skill.entity.ts';
import { createdAtColumn, idColumn, jsonColumn, uuidColumn } from '../columns.ts';
import { uniqueIndex } from '../indexes.ts';
import { tenantPolicies } from '../policies.ts';

const schema = defineEntity({
  name: 'SkillVersion',
  tableName: 'skill_versions',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('skill_versions', 'child'),
  indexes: [uniqueIndex('skill_versions', 'version', '(skill_id, version)')],
  properties: {
    id: idColumn(),
    skillId: uuidColumn(),
    organizationId: uuidColumn().strictNullable(),
    workspaceId: uuidColumn().strictNullable(),
    version: p.integer(),
    description: p.text(),
    instructions: p.text(),
    referenceDocs: jsonColumn<StoredReferenceDoc[]>(() => []),
    frontMatter: p.json<Record<string, unknown>>().strictNullable(),
    contentHash: p.text(),
    origin: p.enum(skillOrigins),
    createdBy: p.json<ActorRef>(),
    createdAt: createdAtColumn(),
  },
});

/** A skill as of one version; never changed. */
export class SkillVersion extends schema.class {}
schema.setClass(SkillVersion);
