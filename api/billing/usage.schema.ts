import Type from 'typebox';
import { money } from '../../db/money.ts';
import { usageKinds, usageSourceKinds } from '../../db/billing/ledger/usage-entry.entity.ts';
import { usageGroupings, type UsageGroup, type UsageGrouping } from '../../db/billing/ledger/usage-groups.ts';
import type { UsageRecord } from '../../db/billing/ledger/usage-records.ts';
import { iso } from '../../db/sql.ts';
import { closed, Decimal, idOf, integer, listOf, nullable, oneOf, text, Timestamp } from '../http/input/schema.ts';
import { Currency, Timezone } from '../http/views/zones.ts';

const Model = text(200, { minLength: 1, description: 'The model by its id in the registry' });
const Day = Type.String({ format: 'date', description: 'A day of the time zone' });

const sharedFilters = {
  workspace_id: Type.Optional(idOf('Workspace')),
  agent_id: Type.Optional(idOf('Agent')),
  model: Type.Optional(Model),
  kind: Type.Optional(oneOf(usageKinds, { description: 'Only usage of this kind' })),
  user_id: Type.Optional(idOf('User')),
};

export const UsageFilters = closed({
  group_by: Type.Optional(
    listOf(oneOf(usageGroupings), {
      minItems: 1,
      maxItems: 4,
      uniqueItems: true,
      default: ['day'],
      description: 'The keys to group by, in this order; repeat the parameter for several',
    }),
  ),
  from: Type.Optional({
    ...Timestamp,
    description: 'Must be on a quarter of an hour; defaults to 30 days in the time zone, including today',
  }),
  to: Type.Optional({ ...Timestamp, description: 'Exclusive, must be on a quarter of an hour; defaults to now' }),
  timezone: Type.Optional({
    ...Timezone,
    description: 'IANA name of the time zone that defines the days; defaults to that of the organization',
  }),
  ...sharedFilters,
});

export const UsageRecordFilters = closed({
  ...sharedFilters,
  run_id: Type.Optional(idOf('Run')),
  from: Type.Optional(Timestamp),
  to: Type.Optional(Timestamp),
});

export const UsageExportFilters = closed({
  format: Type.Optional(oneOf(['csv', 'ndjson'], { default: 'csv', description: 'csv (RFC 4180), or one JSON object per line' })),
  ...sharedFilters,
  run_id: Type.Optional(idOf('Run')),
  from: Timestamp,
  to: Timestamp,
});

const counts = {
  input_tokens: integer({ description: 'Prompt tokens that were not cached' }),
  cached_read_tokens: integer({ description: 'Prompt tokens that were read from the provider’s cache' }),
  cached_write_tokens: integer({ description: 'Prompt tokens that were written to the provider’s cache' }),
  output_tokens: integer({ description: 'Tokens of the answer' }),
  reasoning_tokens: integer({ description: 'Reasoning tokens before the answer; priced as output unless reasoning has its own price' }),
};
const Cost = { ...Decimal, description: 'In its currency; adjustments count with their sign' };

export const UsageGroupView = closed(
  {
    day: Type.Optional(Day),
    workspace_id: Type.Optional(idOf('Workspace')),
    agent_id: Type.Optional(nullable(idOf('Agent'))),
    model: Type.Optional(nullable(Model)),
    kind: Type.Optional(oneOf(usageKinds, { description: 'What was used' })),
    user_id: Type.Optional(nullable(idOf('User'))),
    service_key_id: Type.Optional(nullable(idOf('ServiceKey'))),
    currency: Currency,
    calls: integer({ description: 'Calls that were made; adjustments are none' }),
    ...counts,
    cost: Cost,
    estimated_cost: { ...Decimal, description: 'The part of the cost that was estimated because the provider reported no usage' },
  },
  { $id: 'UsageGroupView', description: 'Usage of one group, with the keys it was grouped by' },
);

export const UsageRecordView = closed(
  {
    id: idOf('Other'),
    occurred_at: { ...Timestamp, description: 'When it was settled; for a correction, the time to which it applies' },
    organization_id: idOf('Organization'),
    workspace_id: idOf('Workspace'),
    source_kind: oneOf(usageSourceKinds, { description: 'What made the call' }),
    source_id: idOf('Other', 'The row that made the call'),
    run_id: nullable(idOf('Run')),
    agent_id: nullable(idOf('Agent')),
    agent_revision_id: nullable(idOf('AgentRevision')),
    user_id: nullable(idOf('User')),
    service_key_id: nullable(idOf('ServiceKey')),
    step: nullable(integer({ description: 'Step of the run' })),
    attempt: integer({ description: 'The try of the step; each try that reached the provider has a record' }),
    kind: oneOf(usageKinds, { description: 'What was used' }),
    model: nullable(Model),
    provider: nullable(text(200, { description: 'The provider of the model, as named in the registry' })),
    tier: nullable(text(40, { description: 'Price tier' })),
    provider_request_id: nullable(text(1_000, { description: 'The provider’s id of the request' })),
    ...counts,
    units: nullable({ ...Decimal, description: 'Units other than tokens' }),
    cost: Cost,
    currency: Currency,
    estimated: Type.Boolean({ description: 'Whether the counts were estimated because the provider reported none' }),
    unpriced: Type.Boolean({ description: 'Whether the model had no price, so that the cost is 0' }),
  },
  { $id: 'UsageRecordView', description: 'One call as recorded in the ledger, or a correction' },
);

/** The wire form of a group; it has the keys of its grouping and no other. */
export function toUsageGroupView(group: UsageGroup, groupBy: readonly UsageGrouping[]) {
  const has = (grouping: UsageGrouping) => groupBy.includes(grouping);
  return {
    ...(has('day') && group.day !== null ? { day: group.day } : {}),
    ...(has('workspace') && group.workspaceId !== null ? { workspace_id: group.workspaceId } : {}),
    ...(has('agent') ? { agent_id: group.agentId } : {}),
    ...(has('model') ? { model: group.model } : {}),
    ...(has('kind') && group.kind !== null ? { kind: group.kind } : {}),
    ...(has('user') ? { user_id: group.userId } : {}),
    ...(has('service_key') ? { service_key_id: group.serviceKeyId } : {}),
    currency: group.currency,
    calls: group.calls,
    input_tokens: group.inputTokens,
    cached_read_tokens: group.cachedReadTokens,
    cached_write_tokens: group.cachedWriteTokens,
    output_tokens: group.outputTokens,
    reasoning_tokens: group.reasoningTokens,
    cost: money(group.cost),
    estimated_cost: money(group.estimatedCost),
  };
}

/** The wire form of a ledger row. */
export function toUsageRecordView(record: UsageRecord) {
  return {
    id: record.id,
    occurred_at: iso(record.occurredAt),
    organization_id: record.organizationId,
    workspace_id: record.workspaceId,
    source_kind: record.sourceKind,
    source_id: record.sourceId,
    run_id: record.runId,
    agent_id: record.agentId,
    agent_revision_id: record.agentRevisionId,
    user_id: record.userId,
    service_key_id: record.serviceKeyId,
    step: record.step,
    attempt: record.attempt,
    kind: record.kind,
    model: record.model,
    provider: record.provider,
    tier: record.tier,
    provider_request_id: record.providerRequestId,
    input_tokens: record.inputTokens,
    cached_read_tokens: record.cachedReadTokens,
    cached_write_tokens: record.cachedWriteTokens,
    output_tokens: record.outputTokens,
    reasoning_tokens: record.reasoningTokens,
    units: record.units === null ? null : money(record.units),
    cost: money(record.cost),
    currency: record.currency,
    estimated: record.estimated,
    unpriced: record.unpriced,
  };
}
