import { resolverOf } from './resolver.ts';
import { denyPending, resolveApprovals } from '../../domain/approvals/resolve.ts';
import { attachmentsForRuns } from '../../domain/attachments/run-attachments.ts';
import { addMessage } from '../../domain/runs/input/added-input.ts';
import { addClientResults } from '../../domain/runs/calls/client-results.ts';
import { requireQuestion } from '../../domain/approvals/check-resolutions.ts';
import { lockConversationOfRun } from '../../db/runs/start/conversations.ts';
import { organizationOf } from '../../db/caller-scope.ts';
import { readRunRow, type RunScope } from '../../db/runs/read/run-queries.ts';
import { lockRun, lockRunsOfCalls, type RunState } from '../../db/runs/run-state.ts';
import { toRunView } from '../../db/runs/read/run-view.ts';
import { fail, invalid } from '../../workflows/contracts/failure.ts';
import { isTerminal } from '../../workflows/contracts/runs/runs.ts';
import { checkBytes } from '../http/input/bounds.ts';
import type { Ctx } from '../http/operation/operation.ts';
import type { RunInputAdd } from './input.schema.ts';

type Added<K extends RunInputAdd['kind']> = Extract<RunInputAdd, { kind: K }>;

const maxOutputBytes = 1_048_576;

/** Adds input from a person or client to a live run. Throws 409 `run_finished` with the run if it has ended, 422 for invalid input. */
export async function addInput(ctx: Ctx, place: RunScope, body: RunInputAdd): Promise<void> {
  switch (body.kind) {
    case 'message':
      return addMessageInput(ctx, place, body);
    case 'answer':
      return answer(ctx, place, body);
    case 'tool_results':
      return addResults(ctx, place, body);
    default:
      return body satisfies never;
  }
}

async function addMessageInput(ctx: Ctx, place: RunScope, body: Added<'message'>): Promise<void> {
  const { text, json, attachments: named = [] } = body;
  if (text === undefined && json === undefined) throw invalid('', 'required', 'text or json is required');
  const ids = named.map((file) => file.attachment_id);
  if (new Set(ids).size < ids.length) throw invalid('/attachments', 'uniqueItems', 'an attachment is named twice');
  const files = ids.length === 0 ? null : await attachmentsForRuns(ctx, [{ ids, workspaceId: place.workspace_id }], '/attachments');
  const attachments = files?.(0) ?? [];

  await lockConversationOfRun(ctx, place.id);
  if (body.deny_pending === true) await denyPending(ctx, { runId: place.id, ...resolverOf(ctx, place), comment: null });
  const run = await live(ctx, await lockRun(ctx, place.id));
  await addMessage(ctx, run, { ...(text === undefined ? {} : { text }), ...(json === undefined ? {} : { json }), attachments }, '');
}

async function answer(ctx: Ctx, place: RunScope, { approval_id: id, response }: Added<'answer'>): Promise<void> {
  await requireQuestion(ctx, { runId: place.id, approvalId: id, reason: 'input_required' });
  await resolveApprovals(ctx, {
    runId: place.id,
    resolutions: [{ approval_id: id, decision: 'respond', response }],
    ...resolverOf(ctx, place),
    pointerOf: () => '',
    validate: (schema, value) => ctx.deps.schemas.of(organizationOf(ctx.caller)).validate(schema, value),
  });
}

async function addResults(ctx: Ctx, place: RunScope, { results }: Added<'tool_results'>): Promise<void> {
  for (const [at, { output }] of results.entries()) checkBytes(`/results/${at}/output`, output, maxOutputBytes);
  if (new Set(results.map((result) => result.tool_call_id)).size < results.length)
    throw invalid('/results', 'uniqueItems', 'a call is named twice');

  const ids = results.map((result) => result.tool_call_id);
  const runs = await lockRunsOfCalls(ctx, place.id, ids);
  await live(ctx, runs.find(({ id }) => id === place.id) ?? null);
  await addClientResults(ctx, { runId: place.id, runs, results });
}

async function live(ctx: Ctx, run: RunState | null): Promise<RunState> {
  if (!run) throw fail('not_found');
  if (!isTerminal(run.status)) return run;
  const ended = await readRunRow(ctx, run.id);
  throw fail('state_conflict', { reason: 'run_finished', detail: 'The run has ended.', context: { run: ended && toRunView(ended) } });
}
