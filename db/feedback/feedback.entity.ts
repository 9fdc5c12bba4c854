import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, idColumn, textArrayColumn, updatedAtColumn, uuidColumn } from '../columns.ts';
import { index, tenantIndexes, uniqueIndex } from '../indexes.ts';
import { tenantPolicies } from '../policies.ts';

export const ratings = ['up', 'down'] as const;
export const voterKinds = ['user', 'guest', 'service_key'] as const;

export type Rating = (typeof ratings)[number];
export type VoterKind = (typeof voterKinds)[number];

const schema = defineEntity({
  name: 'Feedback',
  tableName: 'feedback',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('feedback', 'tenant'),
  indexes: [
    ...tenantIndexes('feedback'),
    uniqueIndex('feedback', 'vote', '(run_id, subject_kind, subject_id)'),
    index('feedback', 'agent', '(workspace_id, agent_id, agent_revision_id, updated_at)'),
  ],
  properties: {
    id: idColumn(),
    organizationId: uuidColumn(),
    workspaceId: uuidColumn(),
    runId: uuidColumn(),
    agentId: uuidColumn(),
    /** The revision that the run used. */
    agentRevisionId: uuidColumn().strictNullable(),
    subjectKind: p.enum(voterKinds),
    subjectId: p.text(),
    rating: p.enum(ratings),
    comment: p.text().strictNullable(),
    tags: textArrayColumn()
      .onCreate(() => [])
      .defaultRaw("'{}'"),
    correction: p.text().strictNullable(),
    createdAt: createdAtColumn(),
    updatedAt: updatedAtColumn(),
  },
});

/** One vote on a run. */
export class Feedback extends schema.class {}
schema.setClass(Feedback);
