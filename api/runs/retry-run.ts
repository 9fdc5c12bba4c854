import type Type from 'typebox';
import { retryRun, type RetryAsk } from '../../domain/runs/start/retry-run.ts';
import { requireRun } from '../../db/runs/read/run-queries.ts';
import type { StartedRun } from '../../domain/runs/start/start-run.ts';
import { assertActive } from '../../db/scope.ts';
import { invalid } from '../../workflows/contracts/failure.ts';
import type { Ctx } from '../http/operation/operation.ts';
import { startedBy, inputOf } from './create-run.ts';
import type { RunRetry } from './ended.schema.ts';

type Body = Type.Static<typeof RunRetry>;

/** Retries a run as the caller. Throws 422 for fields that only a fork accepts, else what `retryRun` throws. */
export async function retryOf(ctx: Ctx, runId: string, body: Body): Promise<StartedRun> {
  const ask = askOf(body);
  const run = await requireRun(ctx, runId);
  await assertActive(ctx.em, { organizationId: run.organization_id, workspaceId: run.workspace_id });
  return retryRun(ctx, { runId: run.id, ask, by: startedBy(ctx) });
}

function askOf(body: Body): RetryAsk {
  const { fork_at_message_id: messageId = null, input = null, session_key: sessionKey = null } = body;
  if (messageId === null) {
    if (input !== null) throw onlyWithFork('/input');
    if (sessionKey !== null) throw onlyWithFork('/session_key');
  }
  return {
    revision: body.revision ?? 'pinned',
    fork: messageId === null ? null : { messageId, input: input === null ? null : inputOf(input), sessionKey },
    limits: body.limits ?? {},
    onBusy: body.on_busy ?? 'enqueue',
  };
}

function onlyWithFork(pointer: string): Error {
  return invalid(pointer, 'dependentRequired', 'is only allowed in a fork: give fork_at_message_id too');
}
