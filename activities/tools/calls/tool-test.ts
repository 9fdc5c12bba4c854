import { cancellationSignal } from '@temporalio/activity';
import { resolveSecret } from '../../../domain/secrets/resolve-secret.ts';
import { readEgressAllowlist } from '../../../db/tenancy/organizations/egress-policy.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import type { TestedTool, TestState } from '../../../db/tools/tool-tests.ts';
import type { ToolTestResult } from '../../../db/tools/tool-test.entity.ts';
import { claimToolTest, settleToolTest } from '../../../domain/tools/tool-tests.ts';
import type { EgressPolicy } from '../../../ports/egress/egress.ts';
import { maxToolTestSeconds, type ToolTestActivities } from '../../../workflows/contracts/tools/tool-test.ts';
import type { ActivityDeps } from '../../deps.ts';
import { transactAsSystem } from '../../support/as-system.ts';
import { tenantOfActivity } from '../../support/tenant.ts';
import { retryWhileUnavailable } from '../../support/retry-unavailable.ts';
import { createToolExecutor, errorOf, type ToolExecutor } from './execute.ts';
import { describeHttp } from '../http/http.ts';
import type { HttpRequest } from '../http/http-request.ts';
import { lockLease, type HeldLease } from './lease.ts';
import { failed, type ToolExecution, type ToolOutcome } from './outcome.ts';
import { resultOfTest } from './test-result.ts';

/** A test to execute now. */
interface ClaimedTest {
  readonly test: TestState;
  readonly tool: TestedTool;
  readonly policy: EgressPolicy;
}

type Transact = ToolExecution['transact'];

/** The activity of a tool's test: outside a run, but with the same executor and the same limits. */
export function createToolTestActivities(deps: ActivityDeps): ToolTestActivities {
  const executor = createToolExecutor(deps);
  return {
    async testTool({ testId }) {
      if (tenantOfActivity().workspaceId === null) throw new Error('a test of a tool has a workspace');
      const transactTest: Transact = (work) => transactAsSystem(deps, work);
      const began = performance.now();
      const claimed = await transactTest((tx) => claim(deps, tx, testId));
      if (claimed === null) return;

      const execution = executionOf(deps, transactTest, claimed);
      const request = claimed.tool.kind === 'http' ? await described(deps, execution) : null;
      const outcome = await outcomeOf(executor, claimed, execution);
      const result = resultOfTest(claimed.tool, { outcome, request, durationMs: Math.round(performance.now() - began) });
      await retryWhileUnavailable(() => transactTest((tx) => settleToolTest(tx, testId, result)));
    },
  };
}

async function described(deps: ActivityDeps, execution: ToolExecution): Promise<HttpRequest | { readonly outcome: ToolOutcome }> {
  try {
    return await describeHttp(deps, execution);
  } catch (error) {
    return { outcome: { status: 'failed', error: errorOf(error) } };
  }
}

const refusals = {
  tool_unavailable: 'the tool was deleted',
  tool_quarantined: 'the tool has changed on its server and waits for an approval',
  outcome_unknown: 'The test was interrupted while it was executed; it may have happened.',
} as const;

/** Returns null when there is nothing to execute. */
async function claim(deps: ActivityDeps, tx: TenantTransaction, testId: string): Promise<ClaimedTest | null> {
  const claimed = await claimToolTest(tx, testId);
  if (claimed.verdict === 'over') return null;
  if (claimed.verdict === 'refused') return refuse(tx, testId, failed(claimed.code, refusals[claimed.code], false));

  const { test, tool } = claimed;
  const policy = { allowHttp: deps.env.allowHttp, exceptions: await readEgressAllowlist(tx, test.organizationId) };
  return { test, tool, policy };
}

async function refuse(tx: TenantTransaction, testId: string, outcome: ToolOutcome): Promise<null> {
  const result: ToolTestResult = resultOfTest(null, { outcome, request: null, durationMs: 0 });
  await settleToolTest(tx, testId, result);
  return null;
}

async function outcomeOf(executor: ToolExecutor, { test, tool }: ClaimedTest, execution: ToolExecution): Promise<ToolOutcome> {
  if (test.dryRun) return { status: 'succeeded', type: 'text', text: '' };
  if (tool.concurrency !== 'exclusive') return executor.execute(execution);

  const key = { organizationId: test.organizationId, workspaceId: test.workspaceId, toolId: tool.id, holder: test.id };
  const began = performance.now();
  const lease = await lockLease({ transact: execution.transact, key, waitMs: execution.timeoutMs, signal: execution.signal });
  if (lease === null) return failed('tool_busy', `another call has held the tool for ${execution.timeoutMs / 1_000} s`, true);
  return whileHeld(lease, () => {
    // Waiting and work together fit into the time limit of a test.
    const leftMs = Math.max(1_000, Math.round(maxToolTestSeconds * 1_000 - (performance.now() - began)));
    const signal = AbortSignal.any([execution.signal, lease.signal]);
    return executor.execute({ ...execution, signal, timeoutMs: Math.min(execution.timeoutMs, leftMs) });
  });
}

async function whileHeld<R>(lease: HeldLease, work: () => Promise<R>): Promise<R> {
  try {
    return await work();
  } finally {
    await lease.release();
  }
}

function executionOf(deps: ActivityDeps, transactTest: Transact, { test, tool, policy }: ClaimedTest): ToolExecution {
  const place = { organizationId: test.organizationId, workspaceId: test.workspaceId };
  return {
    tool: { toolId: tool.id, kind: tool.kind, slug: tool.slug, config: tool.config, responseMaxChars: tool.responseMaxChars },
    toolCallId: test.id,
    args: test.arguments,
    run: null,
    hops: 1,
    place,
    secret: (name) => transactTest((tx) => resolveSecret(tx, deps.keys, { name, row: { scope: tool.scope, toolId: tool.id, ...place } })),
    transact: transactTest,
    variables: {
      run: { id: test.id },
      agent: {},
      workspace: { id: place.workspaceId },
      subject: {},
      now: deps.db.clock.now().toISOString(),
      vars: {},
    },
    policy,
    timeoutMs: Math.min(tool.timeoutS, maxToolTestSeconds) * 1_000,
    signal: cancellationSignal(),
    readOutput: () => Promise.resolve(null),
  };
}
