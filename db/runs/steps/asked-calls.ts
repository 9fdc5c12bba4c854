import { sql } from 'kysely';
import { clockTime, now } from '../../expressions.ts';
import { newId } from '../../ids.ts';
import { insertFrom } from '../../insert-from.ts';
import { jsonText, nullIfJsonNull, recordset, type JsonText } from '../../json-text.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { queueStatement } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { stepKindOf } from '../calls/call-state.ts';
import { storedState } from '../calls/planned-calls.ts';
import type { RunState } from '../run-state.ts';
import { noRetries } from './retries.ts';
import type { CheckedCall, ModelStepResult } from './stored-step.ts';

/** The message of a step, whose calls are written. */
interface AskingMessage {
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly runId: string;
  readonly step: number;
  readonly messageId: string;
}

function askingMessage(run: RunState, { step, messageId }: ModelStepResult): AskingMessage {
  return { organizationId: run.organization_id, workspaceId: run.workspace_id, runId: run.id, step, messageId };
}

function listedCall(call: CheckedCall) {
  return {
    id: call.toolCallId,
    pos: call.pos,
    provider_call_id: call.providerCallId,
    tool_id: call.toolId,
    slug: call.slug,
    kind: call.kind,
    effect: call.effect,
    concurrency: call.concurrency,
    is_idempotent: call.isIdempotent,
    timeout_s: call.timeoutS,
    response_max_chars: call.responseMaxChars,
    args: call.args,
    args_hash: call.argsHash,
    state: storedState(call),
    gate: call.gate,
    critical: call.critical,
    client_owned: call.clientOwned,
    error: call.refusal,
  };
}

const newCalls = prepared((p: ParametersOf<AskingMessage & { calls: JsonText<readonly ReturnType<typeof listedCall>[]> }>) => {
  const calls = recordset(p.calls, 'c', {
    id: 'uuid',
    pos: 'int',
    provider_call_id: 'text',
    tool_id: 'uuid',
    slug: 'text',
    kind: 'text',
    effect: 'text',
    concurrency: 'text',
    is_idempotent: 'boolean',
    timeout_s: 'int',
    response_max_chars: 'int',
    args: 'jsonb',
    args_hash: 'text',
    state: 'text',
    gate: 'text',
    critical: 'boolean',
    client_owned: 'boolean',
    error: 'jsonb',
  });
  return insertFrom('tool_calls', query.selectFrom(calls), ({ ref }) => ({
    id: ref('c.id'),
    organizationId: p.organizationId,
    workspaceId: p.workspaceId,
    runId: p.runId,
    step: p.step,
    messageId: p.messageId,
    pos: ref('c.pos'),
    providerCallId: ref('c.provider_call_id'),
    toolId: ref('c.tool_id'),
    slug: ref('c.slug'),
    kind: ref('c.kind'),
    effect: ref('c.effect'),
    concurrency: ref('c.concurrency'),
    isIdempotent: ref('c.is_idempotent'),
    timeoutS: ref('c.timeout_s'),
    responseMaxChars: ref('c.response_max_chars'),
    args: ref('c.args'),
    argsHash: ref('c.args_hash'),
    state: ref('c.state'),
    error: nullIfJsonNull(ref('c.error')),
    critical: ref('c.critical'),
    clientOwned: ref('c.client_owned'),
    gate: ref('c.gate'),
    attempt: sql.lit(0),
    truncated: sql.lit(false),
    finishedAt: sql<string | null>`case when ${ref('c.state')} = 'failed' then clock_timestamp() end`,
    createdAt: now,
  }));
});

/** Writes the calls that the model asked for. Goes with the next statement; sends none when there are no calls. */
export async function insertCalls(tx: TenantTransaction, run: RunState, result: ModelStepResult): Promise<void> {
  if (result.calls.length === 0) return;
  await queueStatement(tx.em, newCalls({ ...askingMessage(run, result), calls: jsonText(result.calls.map(listedCall)) }));
}

function listedStep(call: CheckedCall) {
  return { id: newId(), call: call.toolCallId, kind: stepKindOf(call.kind), slug: call.slug, args: call.args, error: call.refusal };
}

const refusedSteps = prepared((p: ParametersOf<AskingMessage & { steps: JsonText<readonly ReturnType<typeof listedStep>[]> }>) => {
  const steps = recordset(p.steps, 's', { id: 'uuid', call: 'uuid', kind: 'text', slug: 'text', args: 'jsonb', error: 'jsonb' });
  return insertFrom('run_steps', query.selectFrom(steps), ({ ref }) => ({
    id: ref('s.id'),
    organizationId: p.organizationId,
    workspaceId: p.workspaceId,
    runId: p.runId,
    step: p.step,
    kind: ref('s.kind'),
    name: ref('s.slug'),
    status: sql.lit('failed'),
    attempt: sql.lit(1),
    toolCallId: ref('s.call'),
    messageId: p.messageId,
    args: ref('s.args'),
    retries: noRetries,
    error: ref('s.error'),
    startedAt: clockTime,
    finishedAt: clockTime,
    durationMs: sql.lit(0),
    createdAt: now,
  }));
});

/** Writes the steps of refused calls, so that they are found among the steps like any other. */
export async function insertRefusedSteps(
  tx: TenantTransaction,
  run: RunState,
  result: ModelStepResult,
  refused: readonly CheckedCall[],
): Promise<void> {
  if (refused.length === 0) return;
  await queueStatement(tx.em, refusedSteps({ ...askingMessage(run, result), steps: jsonText(refused.map(listedStep)) }));
}
