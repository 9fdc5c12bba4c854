import { purgeRun } from '../../domain/runs/end/purge-run.ts';
import { toRunView } from '../../db/runs/read/run-view.ts';
import { requireRun } from '../../db/runs/read/run-queries.ts';
import { post, remove, type Ctx } from '../http/operation/operation.ts';
import { RunRetry } from './ended.schema.ts';
import { retryOf } from './retry-run.ts';
import { RunParams, RunView } from './run.schema.ts';
import { forgetReplies } from '../../domain/http/idempotency.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import { toEnvelope } from '../http/reply/error-envelope.ts';

export const endedOperations = {
  retryRun: post(
    '/runs/{run_id}/retry',
    {
      summary: 'Retry or fork a run',
      description:
        'Retries a run that has ended: a new run replaces its turn, which must be the last of the conversation. With fork_at_message_id, the new run continues from a message in a separate conversation, with copies of the earlier messages.',
      access: 'member',
      fails: ['already_exists', 'state_conflict'],
      audit: 'submit',
      idempotent: true,
      mcp: true,
      spends: true,
      success: [202],
      location: (view: { readonly id: string }) => `/runs/${view.id}`,
      example: { body: { revision: 'current' } },
      params: RunParams,
      body: RunRetry,
      view: RunView,
    },
    async (ctx, { params, body }) => {
      const { run, admission } = await retryOf(ctx, params.run_id, body);
      return { ...toRunView(run), admission };
    },
  ),

  purgeRun: remove(
    '/runs/{run_id}',
    {
      summary: 'Purge a run',
      description:
        "Permanently erases a run that has ended, including its sub-agents' runs: input, output, messages, steps, approvals and frames. Its cost stays in the ledger.",
      access: 'admin',
      fails: ['state_conflict'],
      audit: 'purge',
      resourceType: 'run',
      openWhenSuspended: true,
      params: RunParams,
    },
    async (ctx, { params }) => {
      const run = await requireRun(ctx, params.run_id);
      const purged = await purgeRun(ctx, run.id);
      await eraseReplies(ctx, ctx.outgoing.erasedRunIds);
      ctx.audit({
        resourceType: 'run',
        resourceId: run.id,
        organizationId: run.organization_id,
        workspaceId: run.workspace_id,
        changes: { purged_runs: { to: purged } },
      });
    },
  ),
};

/**
 * Replies under an Idempotency-Key hold the view of a run for a day: those that show a purged one become the 404 that the run itself answers now. A key stays
 * used, so that a repeat starts nothing; of a batch only the run's own item goes.
 */
function eraseReplies(ctx: Ctx, runIds: readonly string[]): Promise<void> {
  return forgetReplies(ctx, runIds, toEnvelope(fail('not_found'), { publicUrl: ctx.deps.env.publicUrl, correlationId: ctx.correlationId }));
}
