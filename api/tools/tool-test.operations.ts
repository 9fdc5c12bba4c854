import { setTimeout as delay } from 'node:timers/promises';
import { checkBudgets } from '../../domain/billing/budgets.ts';
import { organizationOf } from '../../db/caller-scope.ts';
import { transact } from '../../db/transaction.ts';
import { resolveNewRowWorkspace } from '../../db/new-row-scope.ts';
import type { RightHolder } from '../../db/streams/access.ts';
import { readToolTestResult } from '../../db/tools/tool-test-results.ts';
import type { ToolTestResult } from '../../db/tools/tool-test.entity.ts';
import { readTool } from '../../db/tools/tools.ts';
import { checkArguments, refuseTest, startToolTest } from '../../domain/tools/tool-tests.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import { maxToolTestSeconds } from '../../workflows/contracts/tools/tool-test.ts';
import { post, reply, type Ctx } from '../http/operation/operation.ts';
import { whileEntitled } from '../streams/while-entitled.ts';
import { ToolParams } from './tool.schema.ts';
import { ToolTest, ToolTestView, toToolTestView } from './tool-test.schema.ts';

const firstPauseMs = 40;
const maxPauseMs = 400;

/** The result for a repeat whose first request died while it waited: the test continued, but no request received its result. */
const notWaitedFor: ToolTestResult = {
  status: 'timed_out',
  output: null,
  output_type: 'text',
  truncated: false,
  total_chars: 0,
  error: { code: 'timed_out', message: 'no caller waited for the result of this test', retryable: true },
  request: null,
  duration_ms: 0,
};

export const toolTestOperations = {
  testTool: post(
    '/tools/{tool_id}/test',
    {
      summary: 'Test a tool',
      description:
        'Runs the tool once with the given arguments, outside a run, and waits at most 60 seconds. A tool that writes requires the role admin. dry_run renders the request and sends nothing.',
      access: 'member',
      fails: ['state_conflict', 'upstream_timeout'],
      audit: 'submit',
      idempotent: true,
      spends: true,
      success: [200],
      params: ToolParams,
      body: ToolTest,
      view: ToolTestView,
      example: { body: { arguments: { number: '1007' }, dry_run: true } },
    },
    async (ctx, { params, body }) => {
      const tool = await readTool(ctx, params.tool_id);
      const isDryRun = body.dry_run === true;
      const rowScope = await resolveNewRowWorkspace(ctx, tool.workspaceId);
      if (!isDryRun) refuseTest(ctx.caller, tool, rowScope.workspaceId);
      await checkArguments(ctx.deps.schemas.of(organizationOf(ctx.caller)), tool, body.arguments);
      if (!isDryRun) await checkBudgets(ctx, rowScope.workspaceId);

      const testId = await startToolTest(ctx, { rowScope, toolId: tool.id, args: body.arguments, isDryRun });
      ctx.audit({ resourceType: 'tool', resourceId: tool.id, label: tool.slug, ...rowScope });
      return reply(toToolTestView(notWaitedFor), {
        afterCommit: async () => reply(toToolTestView(await waitForResult(ctx, { testId, rowScope }))),
      });
    },
  ),
};

/**
 * Polls for the result, each time in a separate transaction. Throws `upstream_timeout` if it takes longer than a test may, and 401, 403 or 404 if the right to
 * it is lost meanwhile.
 */
async function waitForResult(
  ctx: Ctx,
  { testId, rowScope }: { readonly testId: string; readonly rowScope: NonNullable<RightHolder['place']> },
): Promise<ToolTestResult> {
  const { deps, tenant, actor, correlationId } = ctx;
  const end = performance.now() + maxToolTestSeconds * 1_000;

  return whileEntitled(ctx, { place: rowScope }, async (signal) => {
    for (let pauseMs = firstPauseMs; performance.now() < end && !signal.aborted; pauseMs = Math.min(pauseMs * 1.5, maxPauseMs)) {
      const { value } = await transact(deps.db, { tenant, actor, correlationId }, (tx) => readToolTestResult(tx, testId));
      if (value !== null) return value;
      await delay(pauseMs);
    }
    throw fail('upstream_timeout', { detail: 'The test returned no result within 60 seconds.' });
  });
}
