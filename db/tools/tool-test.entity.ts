import { defineEntity, p } from '@mikro-orm/core';
import type { ToolResultCode } from '../../workflows/contracts/runs/runs.ts';
import type { ActorRef } from '../actor-ref.ts';
import { createdAtColumn, idColumn, timeColumn, uuidColumn } from '../columns.ts';
import { index } from '../indexes.ts';
import { tenantPolicies } from '../policies.ts';

/** What came of a test, as its row holds it: cut as for a model, with secrets by name. */
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
    /** Set in a commit of its own before the effect: a test that is found so and without a result may have happened. */
    claimedAt: timeColumn().strictNullable(),
    result: p.json<ToolTestResult>().strictNullable(),
    expiresAt: timeColumn(),
    createdAt: createdAtColumn(),
  },
});

/** One trial of a tool with given arguments; its result is kept for 24 hours. */
export class ToolTest extends schema.class {}
schema.setClass(ToolTest);
