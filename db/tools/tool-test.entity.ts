import { defineEntity, p } from '@mikro-orm/core';
import type { ToolResultCode } from '../../workflows/contracts/runs/runs.ts';
import type { ActorRef } from '../actor-ref.ts';
import { createdAtColumn, idColumn, timeColumn, uuidColumn } from '../columns.ts';
import { index } from '../indexes.ts';
import { tenantPolicies } from '../policies.ts';

/** The result of a test, as its row holds it: truncated as for a model, with names in place of secrets. */
export interface ToolTestResult {
  readonly status: 'succeeded' | 'failed' | 'timed_out';
  readonly output: unknown;
  readonly output_type: 'text' | 'json';
  readonly truncated: boolean;
  readonly total_chars: number;
  readonly error: { readonly code: ToolResultCode; readonly message: string; readonly retryable: boolean } | null;
  readonly request: { readonly method: string; readonly url: string; readonly headers: Readonly<Record<string, string>> } | null;
  readonly duration_ms: number;
}

const schema = defineEntity({
  name: 'ToolTest',
  tableName: 'tool_tests',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('tool_tests', 'child'),
  indexes: [index('tool_tests', 'expires', '(expires_at)')],
  properties: {
    id: idColumn(),
    toolId: uuidColumn(),
    organizationId: uuidColumn().strictNullable(),
    workspaceId: uuidColumn().strictNullable(),
    arguments: p.json<Record<string, unknown>>(),
    dryRun: p.boolean().default(false),
    createdBy: p.json<ActorRef>(),
    /** Set in a separate commit before the effect: the effect of a test that has this but no result may have happened. */
    claimedAt: timeColumn().strictNullable(),
    result: p.json<ToolTestResult>().strictNullable(),
    expiresAt: timeColumn(),
    createdAt: createdAtColumn(),
  },
});

/** One trial of a tool with given arguments; its result is retained for 24 hours. */
export class ToolTest extends schema.class {}
schema.setClass(ToolTest);
