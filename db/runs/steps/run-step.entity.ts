import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, idColumn, jsonColumn, timeColumn, writtenAtColumn, uuidColumn } from '../../columns.ts';
import { index, uniqueIndex } from '../../indexes.ts';
import { tenantPolicies } from '../../policies.ts';
import type { CallInFlight } from '../calls/call-in-flight.ts';
import type { StepError, StepRetry } from '../run-types.ts';
import type { UsageTotals } from '../../billing/ledger/usage.ts';

export const stepKinds = ['model', 'tool', 'sub_agent', 'system'] as const;
export const stepStatuses = ['running', 'succeeded', 'failed', 'denied', 'timed_out', 'cancelled'] as const;

const schema = defineEntity({
  name: 'RunStep',
  tableName: 'run_steps',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('run_steps', 'tenant'),
  indexes: [
    uniqueIndex('run_steps', 'call', '(run_id, step, tool_call_id) nulls not distinct'),
    index('run_steps', 'in_flight', '(run_id) where in_flight is not null'),
  ],
  properties: {
    id: idColumn(),
    organizationId: uuidColumn(),
    workspaceId: uuidColumn(),
    runId: uuidColumn(),
    step: p.integer(),
    kind: p.enum(stepKinds),
    name: p.text(),
    status: p.enum(stepStatuses).default('running'),
    /** Incremented by the claim that opens a try; Temporal's own count restarts with each activity. */
    attempt: p.integer().default(1),
    messageId: uuidColumn().strictNullable(),
    toolCallId: uuidColumn().strictNullable(),
    childRunId: uuidColumn().strictNullable(),
    args: p.json<Record<string, unknown>>().strictNullable(),
    outputPreview: p.text().strictNullable(),
    error: p.json<StepError>().strictNullable(),
    retries: jsonColumn<StepRetry[]>(() => []),
    usage: p.json<UsageTotals>().strictNullable(),
    /** The call of the newest try, from when it leaves until it is settled. */
    inFlight: p.json<CallInFlight>().strictNullable(),
    startedAt: writtenAtColumn(),
    firstTokenAt: timeColumn().strictNullable(),
    finishedAt: timeColumn().strictNullable(),
    durationMs: p.integer().strictNullable(),
    traceId: p.text().strictNullable(),
    spanId: p.text().strictNullable(),
    createdAt: createdAtColumn(),
  },
});

/** One model call, or one tool call that it asked for. */
export class RunStep extends schema.class {}
schema.setClass(RunStep);
