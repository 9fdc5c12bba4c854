import { mapPage } from '../../db/page.ts';
import { cancelRun } from '../../domain/runs/end/cancel-run.ts';
import { listMessageRows, toMessageView } from '../../db/runs/read/messages.ts';
import { listRunRows, requireRun, seeRun } from '../../db/runs/read/run-queries.ts';
import { toRunView } from '../../db/runs/read/run-view.ts';
import { startRun } from '../../domain/runs/start/start-run.ts';
import { listStepRows, toRunStepView } from '../../db/runs/steps/steps.ts';
import { assertActive } from '../../db/scope.ts';
import { area, get, list, post, reply } from '../http/operation/operation.ts';
import { approvalOperations } from './approvals.operations.ts';
import { bulkOperations } from './bulk.operations.ts';
import { createReview } from './create-review.ts';
import { toStartRun } from './create-run.ts';
import { inputOperations } from './input.operations.ts';
import { endedOperations } from './ended.operations.ts';
import { MessageFilters, MessageView } from './message.schema.ts';
import { RunCancel, RunCreate, RunFilters, RunParams, RunView, WaitQuery } from './run.schema.ts';
import { RunStepView, StepFilters } from './step.schema.ts';
import { streamOperations } from './stream.operations.ts';
import { isSettled, waitUntilSettled } from './wait.ts';

const locationOf = (view: { readonly id: string }) => `/runs/${view.id}`;

export const runs = area('Runs', {
  listRuns: list(
    '/runs',
    {
      summary: 'List runs',
      description: 'Runs that the caller can see. Texts of input and output are truncated to 500 characters.',
      access: 'viewer',
      mcp: true,
      paging: 'keyset',
      query: RunFilters,
      view: RunView,
    },
    async (ctx, { query }) => mapPage(await listRunRows(ctx, query, ctx.page), toRunView),
  ),

  createRun: post(
    '/runs',
    {
      summary: 'Start a run',
      description:
        'Starts a turn with an agent. Returns 202 with the queued run, or, with mode wait, 200 once it has ended or is waiting. Runs with the same session key run one after the other.',
      access: 'member',
      fails: ['state_conflict', 'not_found'],
      audit: 'submit',
      idempotent: true,
      mcp: true,
      spends: true,
      success: [202, 200],
      location: locationOf,
      example: { body: { agent_slug: 'guide', input: { text: 'What is new?' }, session_key: 'chat-42' } },
      body: RunCreate,
      view: RunView,
    },
    async (ctx, { body }) => {
      const { run, admission } = await (body.review ? createReview(ctx, body, body.review) : startRun(ctx, toStartRun(ctx, body)));
      const view = { ...toRunView(run), admission };
      if (body.mode !== 'wait') return view;
      return reply(view, {
        status: 202,
        afterCommit: async () => {
          const last = await waitUntilSettled(ctx, run, (body.wait_timeout_s ?? 60) * 1_000);
          return reply({ ...toRunView(last), admission }, { status: isSettled(last) ? 200 : 202 });
        },
      });
    },
  ),

  getRun: get(
    '/runs/{run_id}',
    {
      summary: 'Read a run',
      description: 'Returns the current state of a run with its full input and output.',
      access: 'viewer',
      mcp: true,
      params: RunParams,
      view: RunView,
    },
    async (ctx, { params }) => toRunView(await seeRun(ctx, params.run_id)),
  ),

  cancelRun: post(
    '/runs/{run_id}/cancel',
    {
      summary: 'Cancel a run',
      description:
        'Ends a queued run at once and asks a running or waiting run to end. Repeating the request changes nothing; 409 for a run that has ended.',
      access: 'member',
      fails: ['state_conflict'],
      audit: 'submit',
      idempotent: true,
      mcp: true,
      success: [202],
      location: locationOf,
      params: RunParams,
      example: { body: { policy: 'interrupt', reason: 'The customer has left.' } },
      body: RunCancel,
      view: RunView,
    },
    async (ctx, { params, body }) => {
      const place = await requireRun(ctx, params.run_id);
      await assertActive(ctx.em, { organizationId: place.organization_id, workspaceId: place.workspace_id });
      return toRunView(await cancelRun(ctx, { runId: place.id, policy: body.policy ?? 'interrupt', reason: body.reason ?? null }));
    },
  ),

  ...inputOperations,
  ...approvalOperations,

  waitForRun: get(
    '/runs/{run_id}/wait',
    {
      summary: 'Wait for a run',
      description:
        'Answers as soon as the run has ended or is waiting for someone, otherwise after timeout_s with the current run and Retry-After.',
      access: 'viewer',
      mcp: true,
      params: RunParams,
      query: WaitQuery,
      view: RunView,
    },
    async (ctx, { params, query }) => {
      const run = await seeRun(ctx, params.run_id);
      if (isSettled(run)) return toRunView(run);
      return reply(toRunView(run), {
        afterCommit: async () => {
          const last = await waitUntilSettled(ctx, run, (query.timeout_s ?? 30) * 1_000);
          return reply(toRunView(last), { headers: isSettled(last) ? {} : { 'retry-after': '1' } });
        },
      });
    },
  ),

  listRunMessages: list(
    '/runs/{run_id}/messages',
    {
      summary: 'List the messages of a run',
      description: 'Returns the full messages of the run, or of its conversation up to and including the run.',
      access: 'viewer',
      mcp: true,
      paging: 'keyset',
      order: 'oldest first',
      params: RunParams,
      query: MessageFilters,
      view: MessageView,
    },
    async (ctx, { params, query }) =>
      mapPage(await listMessageRows(ctx, await requireRun(ctx, params.run_id), query, ctx.page), toMessageView),
  ),

  listRunSteps: list(
    '/runs/{run_id}/steps',
    {
      summary: 'List the steps of a run',
      description: 'Returns model and tool calls of the run with their tries, times and usage, oldest first.',
      access: 'viewer',
      mcp: true,
      paging: 'keyset',
      order: 'oldest first',
      params: RunParams,
      query: StepFilters,
      view: RunStepView,
    },
    async (ctx, { params, query }) =>
      mapPage(await listStepRows(ctx, await requireRun(ctx, params.run_id), query, ctx.page), toRunStepView),
  ),

  ...bulkOperations,
  ...endedOperations,
  ...streamOperations,
});
