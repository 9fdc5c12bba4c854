import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, idColumn, textArrayColumn, timeColumn, uuidColumn } from '../columns.ts';
import { index, tenantIndexes, uniqueIndex } from '../indexes.ts';
import { approvalReasons, approvalStatuses, type ApprovalDecision } from '../../workflows/contracts/runs/approvals.ts';
import { tenantPolicies } from '../policies.ts';

const schema = defineEntity({
  name: 'Approval',
  tableName: 'approvals',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('approvals', 'tenant'),
  indexes: [
    ...tenantIndexes('approvals'),
    uniqueIndex('approvals', 'question', '(tool_call_id, round) where tool_call_id is not null'),
    index('approvals', 'run', '(run_id)'),
    index('approvals', 'root', '(root_run_id)'),
    index('approvals', 'pending', "(root_run_id) where status = 'pending'"),
    index('approvals', 'expiry', "(expires_at) where status = 'pending'"),
  ],
  checks: [{ name: 'approvals_resolved_at', expression: "(status = 'pending') = (resolved_at is null)" }],
  properties: {
    id: idColumn(),
    organizationId: uuidColumn(),
    workspaceId: uuidColumn(),
    runId: uuidColumn(),
    rootRunId: uuidColumn(),
    agentId: uuidColumn(),
    /** Null for a question that does not come from a call (budget). */
    toolCallId: uuidColumn().strictNullable(),
    /** 1, then one more for each further question about the same call. */
    round: p.integer().default(1),
    toolSlug: p.text().strictNullable(),
    reason: p.enum(approvalReasons),
    status: p.enum(approvalStatuses).default('pending'),
    prompt: p.text(),
    args: p.json<Record<string, unknown>>().strictNullable(),
    argsHash: p.text().strictNullable(),
    responseSchema: p.json<Record<string, unknown>>().strictNullable(),
    decisions: textArrayColumn().$type<ApprovalDecision[]>(),
    critical: p.boolean().default(false),
    approverFloor: p.enum(['member', 'admin'] as const),
    expiresAt: timeColumn(),
    onExpiry: p.enum(['deny', 'fail'] as const),
    editedArgs: p.json<Record<string, unknown>>().strictNullable(),
    response: p.json<unknown>().strictNullable(),
    comment: p.text().strictNullable(),
    resolvedByKind: p.enum(['user', 'service_key', 'system'] as const).strictNullable(),
    resolvedById: uuidColumn().strictNullable(),
    resolvedAt: timeColumn().strictNullable(),
    createdAt: createdAtColumn(),
  },
});

/** One question of a run to people, and its answer. */
export class Approval extends schema.class {}
schema.setClass(Approval);
