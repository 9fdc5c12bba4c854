import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, idColumn, uuidColumn } from '../../columns.ts';
import { tenantIndexes, uniqueIndex } from '../../indexes.ts';
import { tenantPolicies } from '../../policies.ts';
import type { RevisionDocument } from './revision-document.ts';

const schema = defineEntity({
  name: 'AgentRevision',
  tableName: 'agent_revisions',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('agent_revisions', 'child'),
  indexes: [...tenantIndexes('agent_revisions'), uniqueIndex('agent_revisions', 'number', '(agent_id, number)')],
  uniques: [{ name: 'agent_revisions_agent_key', properties: ['id', 'agentId'] }],
  properties: {
    id: idColumn(),
    agentId: uuidColumn(),
    organizationId: uuidColumn().strictNullable(),
    workspaceId: uuidColumn().strictNullable(),
    number: p.integer(),
    document: p.json<RevisionDocument>(),
    documentHash: p.text(),
    note: p.text().strictNullable(),
    createdBy: p.json<{ kind: 'user' | 'service_key' | 'agent' | 'system'; id: string | null }>(),
    createdAt: createdAtColumn(),
  },
});

/** An immutable description of an agent: the application may neither change nor delete it. */
export class AgentRevision extends schema.class {}
schema.setClass(AgentRevision);
