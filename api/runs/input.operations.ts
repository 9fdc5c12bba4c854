import { requireRun, seeRun } from '../../db/runs/read/run-queries.ts';
import { toRunView } from '../../db/runs/read/run-view.ts';
import { assertActive } from '../../db/scope.ts';
import { post } from '../http/operation/operation.ts';
import { addInput } from './add-input.ts';
import { RunInputAdd } from './input.schema.ts';
import { RunParams, RunView } from './run.schema.ts';

const maxBodyBytes = 4 * 1024 * 1024;

export const inputOperations = {
  addRunInput: post(
    '/runs/{run_id}/input',
    {
      summary: 'Add input to a run',
      description:
        'Steers a live run with a message, answers a question of its agent, or delivers the results of calls that the client executes, for the run and its descendants. 409 for a run that has ended.',
      access: 'member',
      fails: ['state_conflict'],
      audit: 'submit',
      idempotent: true,
      mcp: true,
      success: [202],
      maxBodyBytes: maxBodyBytes,
      location: (view: { readonly id: string }) => `/runs/${view.id}`,
      params: RunParams,
      example: { body: { kind: 'message', text: 'Leave out the appendix.' } },
      body: RunInputAdd,
      view: RunView,
    },
    async (ctx, { params, body }) => {
      const place = await requireRun(ctx, params.run_id);
      await assertActive(ctx.em, { organizationId: place.organization_id, workspaceId: place.workspace_id });
      await addInput(ctx, place, body);
      return toRunView(await seeRun(ctx, place.id));
    },
  ),
};
