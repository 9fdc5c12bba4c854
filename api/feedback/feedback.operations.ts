import { listFeedbackGroups } from '../../db/feedback/groups.ts';
import type { VotedRun } from '../../db/feedback/votes.ts';
import { mapPage } from '../../db/page.ts';
import { assertActive } from '../../db/scope.ts';
import { lockVotedRun, putVote, voterOf, withdrawVote } from '../../domain/feedback/votes.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import { area, list, put, remove, type Ctx } from '../http/operation/operation.ts';
import {
  FeedbackAggregateView,
  FeedbackFilters,
  FeedbackPut,
  FeedbackView,
  toFeedbackAggregateView,
  toFeedbackView,
  VotedRunParams,
} from './feedback.schema.ts';

export const feedback = area('Feedback', {
  listFeedback: list(
    '/feedback',
    {
      summary: 'Count votes',
      description:
        'Votes that the caller can see, counted by agent and revision, most votes first; filters apply to the votes before they are counted.',
      access: 'viewer',
      mcp: true,
      paging: 'offset',
      order: 'total descending, agent_id, agent_revision_id (null last)',
      query: FeedbackFilters,
      view: FeedbackAggregateView,
    },
    async (ctx, { query: { agent_id: agentId, rating, from, to } }) => {
      if (from !== undefined && to !== undefined && Date.parse(from) > Date.parse(to)) throw fromAfterTo();
      return mapPage(await listFeedbackGroups(ctx, { agentId, rating, from, to }, ctx.page), toFeedbackAggregateView);
    },
  ),

  putRunFeedback: put(
    '/runs/{run_id}/feedback',
    {
      summary: 'Vote on a run',
      description:
        'Sets the caller’s own vote on a run that has ended and replaces an earlier one; it counts for the revision that the run used.',
      access: 'viewer',
      fails: ['state_conflict'],
      audit: 'submit',
      mcp: true,
      example: { body: { rating: 'down', comment: 'The date is wrong.', tags: ['facts'], correction: 'It was on Friday.' } },
      params: VotedRunParams,
      body: FeedbackPut,
      view: FeedbackView,
    },
    async (ctx, { params, body }) => {
      const run = await lockVotedRun(ctx, params.run_id);
      await assertActive(ctx.em, { organizationId: run.organizationId, workspaceId: run.workspaceId });
      const voter = voterOf(ctx.caller);
      const { rating, comment = null, tags = [], correction = null } = body;
      const row = await putVote(ctx, run, { voter, vote: { rating, comment, tags, correction } });
      noteVote(ctx, run, { rating: { to: rating } });
      return toFeedbackView(row);
    },
  ),

  withdrawRunFeedback: remove(
    '/runs/{run_id}/feedback',
    {
      summary: 'Withdraw a vote',
      description: 'Withdraws the caller’s own vote on a run. Succeeds without any change if there is none.',
      access: 'viewer',
      audit: 'delete',
      openWhenSuspended: true,
      params: VotedRunParams,
    },
    async (ctx, { params }) => {
      const run = await lockVotedRun(ctx, params.run_id);
      const voter = voterOf(ctx.caller);
      const hasVoted = await withdrawVote(ctx, run, voter);
      noteVote(ctx, run, hasVoted ? { rating: { changed: true } } : {});
    },
  ),
});

/** Audit entries identify votes by their run, because a vote has no operation to read it. */
function noteVote(ctx: Ctx, run: VotedRun, changes: NonNullable<Parameters<Ctx['audit']>[0]>['changes']): void {
  ctx.audit({ resourceType: 'feedback', resourceId: run.id, organizationId: run.organizationId, workspaceId: run.workspaceId, changes });
}

function fromAfterTo(): Error {
  const message = 'from must not be after to';
  return fail('validation_failed', { detail: message, errors: [{ in: 'query', pointer: null, name: 'from', rule: 'range', message }] });
}
