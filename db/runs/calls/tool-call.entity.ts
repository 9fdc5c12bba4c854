import { defineEntity, p } from '@mikro-orm/core';
import { callGates } from '../../../workflows/contracts/runs/approvals.ts';
import { toolCallStates, toolKinds } from '../../../workflows/contracts/runs/runs.ts';
import { createdAtColumn, idColumn, timeColumn, uuidColumn } from '../../columns.ts';
import { index, uniqueIndex } from '../../indexes.ts';
import { tenantPolicies } from '../../policies.ts';
import { toolConcurrencies, toolEffects } from '../../tools/tool.entity.ts';
import type { StepError } from '../run-types.ts';

export const outputTypes = ['text', 'json', 'attachment'] as const;

const schema = defineEntity({
  name: 'ToolCall',
  tableName: 'tool_calls',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('tool_calls', 'tenant'),
  indexes: [
    uniqueIndex('tool_calls', 'position', '(run_id, step, pos)'),
    index('tool_calls', 'message', '(message_id)'),
    index('tool_calls', 'child', '(child_run_id) where child_run_id is not null'),
  ],
  properties: {
    id: idColumn(),
    organizationId: uuidColumn(),
    workspaceId: uuidColumn(),
    runId: uuidColumn(),
    step: p.integer(),
    pos: p.integer(),
    messageId: uuidColumn(),
    providerCallId: p.text(),
    /** Null when the model named a tool that the agent does not have. */
    toolId: uuidColumn().strictNullable(),
    slug: p.text(),
    kind: p.enum(toolKinds).strictNullable(),
    effect: p.enum(toolEffects),
    concurrency: p.enum(toolConcurrencies),
    critical: p.boolean().default(false),
    clientOwned: p.boolean().default(false),
    isIdempotent: p.boolean().default(false),
    timeoutS: p.integer().fieldName('timeout_s'),
    responseMaxChars: p.integer(),
    /** Why each execution of the call must be approved first; null: no approval is needed. */
    gate: p.enum(callGates).strictNullable(),
    args: p.json<Record<string, unknown>>().strictNullable(),
    argsHash: p.text().strictNullable(),
    state: p.enum(toolCallStates).default('recorded'),
    attempt: p.integer().default(0),
    claimedAt: timeColumn().strictNullable(),
    deadlineAt: timeColumn().strictNullable(),
    output: p.json<unknown>().strictNullable(),
    outputType: p.enum(outputTypes).strictNullable(),
    totalChars: p.integer().strictNullable(),
    truncated: p.boolean().default(false),
    error: p.json<StepError>().strictNullable(),
    childRunId: uuidColumn().strictNullable(),
    finishedAt: timeColumn().strictNullable(),
    createdAt: createdAtColumn(),
  },
});

/** One call that a model asked for, with the flags its tool had at that moment. Its id is the idempotency key of the call's effect. */
export class ToolCall extends schema.class {}
schema.setClass(ToolCall);
