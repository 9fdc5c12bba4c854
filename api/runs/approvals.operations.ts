import { listApprovalRows } from '../../db/approvals/list-approvals.ts';
import { resolveApprovals } from '../../domain/approvals/resolve.ts';
import { toApprovalView } from '../../db/approvals/approval-view.ts';
import { mapPage } from '../../db/page.ts';
import { organizationOf } from '../../db/caller-scope.ts';
import { requireRun, seeRun } from '../../db/runs/read/run-queries.ts';
import { toRunView } from '../../db/runs/read/run-view.ts';
import { assertActive } from '../../db/scope.ts';
import { list, post } from '../http/operation/operation.ts';
import { ApprovalFilters, ApprovalResolutionView, ApprovalView, RunApprovalsResolve } from './approval.schema.ts';
import { resolverOf } from './resolver.ts';
import { RunParams } from './run.schema.ts';

export const approvalOperations = {
  listRunApprovals: list(
    '/runs/{run_id}/approvals',
    {
      summary: 'List the approvals of a run',
      description: 'Questions of the run and its descendants to people.',
      access: 'viewer',
      mcp: true,
      paging: 'keyset',
      params: RunParams,
      query: ApprovalFilters,
      view: ApprovalView,
    },
    async (ctx, { params, query }) =>
      mapPage(await listApprovalRows(ctx, await requireRun(ctx, params.run_id), query, ctx.page), toApprovalView),
  ),

  resolveRunApprovals: post(
    '/runs/{run_id}/approvals',
    {
      summary: 'Answer approvals of a run',
      description:
        'Answers one or more questions of the run or its descendants, all or none. Repeating the same answer changes nothing; a different one is 409. Questions about critical tools require an admin.',
      access: 'member',
      fails: ['state_conflict'],
      audit: 'approve',
      idempotent: true,
      success: [200],
      params: RunParams,
      example: {
        body: { resolutions: [{ approval_id: '01960000-0000-7000-8000-000000000018', decision: 'approve', comment: 'Go ahead.' }] },
      },
      body: RunApprovalsResolve,
      view: ApprovalResolutionView,
    },
    async (ctx, { params, body }) => {
      const place = await requireRun(ctx, params.run_id);
      await assertActive(ctx.em, { organizationId: place.organization_id, workspaceId: place.workspace_id });
      const { approvals, applied, unchanged } = await resolveApprovals(ctx, {
        runId: place.id,
        resolutions: body.resolutions,
        ...resolverOf(ctx, place),
        validate: (schema, value) => ctx.deps.schemas.of(organizationOf(ctx.caller)).validate(schema, value),
      });
      const note = {
        resourceType: 'run',
        resourceId: place.id,
        organizationId: place.organization_id,
        workspaceId: place.workspace_id,
        changes: { approvals: { to: body.resolutions.map(({ approval_id: id, decision }) => ({ id, decision })) } },
      };
      ctx.audit(applied === 0 ? null : note);
      return { items: approvals.map(toApprovalView), applied, unchanged, run: toRunView(await seeRun(ctx, place.id)) };
    },
  ),
};
