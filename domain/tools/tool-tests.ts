import type { SqlEntityManager } from '@mikro-orm/postgresql';
import type { Caller } from '../../db/caller.ts';
import { addOutbox } from '../../db/outbox.ts';
import { refuseRank } from '../../db/caller-scope.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import {
  claimToolTestRow,
  deleteExpiredToolTests,
  insertToolTestRow,
  lockToolTest,
  settleToolTestRow,
  type NewTest,
  type TestedTool,
  type TestState,
} from '../../db/tools/tool-tests.ts';
import type { ToolTestResult } from '../../db/tools/tool-test.entity.ts';
import type { ToolRow } from '../../db/tools/tools.ts';
import type { TenantSchemas } from '../../ports/json/schema.ts';
import { fail, invalid, type Violation } from '../../workflows/contracts/failure.ts';
import { taskQueues, workflowIds } from '../../workflows/contracts/queues.ts';

/**
 * Refuses a test that may not be executed: throws 403 when it writes and the caller is no admin of the workspace, 422 for a kind that is executed only in a
 * run.
 */
export function refuseTest(caller: Caller, tool: Pick<ToolRow, 'effect' | 'critical' | 'clientOwned' | 'kind'>, workspaceId: string): void {
  if (tool.effect === 'write' || tool.critical) refuseRank(caller, workspaceId, 'admin');
  if (tool.clientOwned || tool.kind === 'delegate' || tool.kind === 'schedule')
    throw invalid('/dry_run', 'const', 'A tool of this kind cannot be executed outside a run.');
}

/** Throws 422 unless the arguments of a test match the tool's input schema. */
export async function checkArguments(
  schemas: Pick<TenantSchemas, 'validate'>,
  tool: Pick<ToolRow, 'inputSchema'>,
  args: Record<string, unknown>,
): Promise<void> {
  const problems = await schemas.validate(tool.inputSchema, args);
  if (problems.length === 0) return;
  throw fail('validation_failed', {
    detail: 'The arguments do not match the input schema of the tool.',
    errors: problems.map(({ pointer, rule, message }): Violation => ({
      in: 'body',
      pointer: `/arguments${pointer}`,
      name: null,
      rule,
      message,
    })),
  });
}

/** Writes a test and the start of its workflow. Returns its id. */
export async function startToolTest(tx: TenantTransaction, asked: NewTest): Promise<string> {
  const id = await insertToolTestRow(tx, asked);
  const workflowId = workflowIds.toolTest(id);
  await addOutbox(
    tx,
    {
      kind: 'workflow.start',
      workflowType: 'toolTest',
      workflowId,
      taskQueue: taskQueues.runs,
      args: [{ testId: id }],
      organizationId: asked.rowScope.organizationId,
      workspaceId: asked.rowScope.workspaceId,
      correlationId: tx.correlationId,
      reuse: 'reject_duplicate',
      priority: 1,
      searchAttributes: {},
    },
    { dedupeKey: workflowId },
  );
  return id;
}

/** Whether a test is to be executed now; `over`: it no longer exists or has its result. */
export type ToolTestClaim =
  | { readonly verdict: 'over' }
  | { readonly verdict: 'refused'; readonly code: 'tool_unavailable' | 'tool_quarantined' | 'outcome_unknown' }
  | { readonly verdict: 'claimed'; readonly test: TestState; readonly tool: TestedTool };

/** Claims a test, and locks it until the transaction ends. A write that was claimed before is never executed again: its outcome is not known. */
export async function claimToolTest(tx: TenantTransaction, testId: string): Promise<ToolTestClaim> {
  const test = await lockToolTest(tx, testId);
  if (test === null || test.isSettled) return { verdict: 'over' };
  const { tool } = test;
  if (tool === null) return { verdict: 'refused', code: 'tool_unavailable' };
  if (tool.isQuarantined) return { verdict: 'refused', code: 'tool_quarantined' };
  const isRepeatable = tool.effect === 'read' || tool.isIdempotent || test.dryRun;
  if (test.isClaimed && !isRepeatable) return { verdict: 'refused', code: 'outcome_unknown' };

  await claimToolTestRow(tx, testId);
  return { verdict: 'claimed', test, tool };
}

/** Stores the result of a test once; a later one is dropped. */
export function settleToolTest(tx: TenantTransaction, testId: string, result: ToolTestResult): Promise<void> {
  return settleToolTestRow(tx, testId, result);
}

/** Deletes at most `limit` tests past their 24 hours; returns how many. Uses the sweeper's pool. */
export function sweepToolTests(em: SqlEntityManager, limit: number): Promise<number> {
  return deleteExpiredToolTests(em, limit);
}
