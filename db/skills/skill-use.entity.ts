import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, uuidColumn } from '../columns.ts';
import { index } from '../indexes.ts';
import { tenantPolicies } from '../policies.ts';

const schema = defineEntity({
  name: 'SkillUse',
  tableName: 'skill_uses',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('skill_uses', 'tenant'),
  indexes: [index('skill_uses', 'skill', '(skill_id)')],
  properties: {
    runId: uuidColumn().primary(),
    skillId: uuidColumn().primary(),
    organizationId: uuidColumn(),
    workspaceId: uuidColumn(),
    version: p.integer(),
    createdAt: createdAtColumn(),
  },
});

/** A run has loaded a skill: counted once. */
export class SkillUse extends schema.class {}
schema.setClass(SkillUse);
