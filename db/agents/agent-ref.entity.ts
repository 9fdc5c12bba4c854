import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, idColumn, uuidColumn } from '../columns.ts';
import { index, uniqueIndex } from '../indexes.ts';
import { tenantPolicies } from '../policies.ts';

export const agentRefKinds = ['tool', 'toolkit', 'skill', 'sub_agent', 'knowledge'] as const;

const schema = defineEntity({
  name: 'AgentRef',
  tableName: 'agent_refs',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('agent_refs', 'child'),
  indexes: [
    index('agent_refs', 'target', '(kind, target_id)'),
    uniqueIndex('agent_refs', 'reference', '(revision_id, persona_id, kind, target_id) nulls not distinct'),
  ],
  checks: [{ name: 'agent_refs_one_owner', expression: '(revision_id is null) <> (persona_id is null)' }],
  properties: {
    id: idColumn(),
    organizationId: uuidColumn().strictNullable(),
    workspaceId: uuidColumn().strictNullable(),
    revisionId: uuidColumn().strictNullable(),
    personaId: uuidColumn().strictNullable(),
    kind: p.enum(agentRefKinds),
    targetId: uuidColumn(),
    createdAt: createdAtColumn(),
  },
});

/** One reference of a revision or persona to a tool, toolkit, skill, agent or base. */
export class AgentRef extends schema.class {}
schema.setClass(AgentRef);
