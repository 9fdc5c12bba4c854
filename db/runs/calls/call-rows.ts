import { sql } from 'kysely';
import type { StepSpan } from '../../../ports/telemetry/origin.ts';
import type { ToolCallState } from '../../../workflows/contracts/runs/runs.ts';
import { clockTime, literals, msSince, now } from '../../expressions.ts';
import { newId } from '../../ids.ts';
import { jsonb, jsonText, type JsonText } from '../../json-text.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { change, row, queueStatement } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { openStates, stepKindOf, type CallState } from './call-state.ts';
import type { ToolResult } from '../run-frames.ts';
import { noRetries, retriesWithLost } from '../steps/retries.ts';
import type { StepError, StepRetry } from '../run-types.ts';

/** The outcome of a call: its state, and what the model and the stream's readers get. */
export interface CallOutcome {
  readonly state: Extract<ToolCallState, 'succeeded' | 'failed' | 'denied' | 'timed_out' | 'cancelled' | 'unknown'>;
  readonly result: ToolResult;
  /** The whole output when it was truncated for the model. */
  readonly rest: string | null;
}

/** A call and its tenant, for the rows that belong to it. */
interface CallOfRow {
  readonly callId: string;
  readonly runId: string;
  readonly organizationId: string;
  readonly workspaceId: string;
}

function callOfRow({ id, runId, organizationId, workspaceId }: CallState): CallOfRow {
  return { callId: id, runId, organizationId, workspaceId };
}

const wholeOutput = prepared((p: ParametersOf<CallOfRow & { readonly body: string }>) =>
  query
    .insertInto('tool_outputs')
    .values({
      runId: p.runId,
      callId: p.callId,
      organizationId: p.organizationId,
      workspaceId: p.workspaceId,
      body: p.body,
      mediaType: 'text/plain',
      createdAt: now,
    })
    .onConflict((conflict) => conflict.doNothing()),
);

/** Stores the whole output of a call whose result was truncated. */
export async function keepWholeOutput(tx: TenantTransaction, call: CallState, body: string): Promise<void> {
  await queueStatement(tx.em, wholeOutput({ ...callOfRow(call), body }));
}

interface NewStep extends CallOfRow {
  readonly id: string;
  readonly step: number;
  readonly name: string;
  readonly messageId: string;
  readonly args: JsonText<Record<string, unknown>>;
  readonly attempt: number;
  readonly traceId: string | null;
  readonly spanId: string | null;
}

function newStepOf(call: CallState, attempt: number, span: StepSpan | null = null): NewStep {
  const { step, slug: name, messageId } = call;
  return {
    ...callOfRow(call),
    id: newId(),
    step,
    name,
    messageId,
    args: jsonText(call.args),
    attempt,
    traceId: span?.traceId ?? null,
    spanId: span?.spanId ?? null,
  };
}

const none = sql.lit(null);

function stepValues(p: ParametersOf<NewStep>) {
  return {
    id: p.id,
    organizationId: p.organizationId,
    workspaceId: p.workspaceId,
    runId: p.runId,
    step: p.step,
    name: p.name,
    attempt: p.attempt,
    toolCallId: p.callId,
    messageId: p.messageId,
    args: jsonb(p.args),
    retries: noRetries,
    childRunId: none,
    usage: none,
    inFlight: none,
    firstTokenAt: none,
    traceId: p.traceId,
    spanId: p.spanId,
    startedAt: clockTime,
    createdAt: now,
  };
}

interface EndedStep extends NewStep {
  readonly kind: ReturnType<typeof stepKindOf>;
  readonly status: ToolResult['status'];
  readonly preview: string;
  readonly error: JsonText<StepError> | null;
}

const endedStep = prepared((p: ParametersOf<EndedStep>) =>
  query
    .insertInto('run_steps')
    .values({
      ...stepValues(p),
      kind: p.kind,
      status: p.status,
      outputPreview: p.preview,
      error: jsonb(p.error),
      finishedAt: clockTime,
      durationMs: 0,
    })
    .onConflict((conflict) =>
      conflict.columns(['runId', 'step', 'toolCallId']).doUpdateSet(({ ref }) => ({
        status: ref('excluded.status'),
        outputPreview: ref('excluded.outputPreview'),
        error: ref('excluded.error'),
        finishedAt: clockTime,
        durationMs: msSince(ref('run_steps.startedAt')),
      })),
    ),
);

/** Closes the step of a call. A call that was never claimed gets its step here, so that every call is found among the steps. */
export async function closeToolStep(tx: TenantTransaction, call: CallState, end: CallOutcome, error: StepError | null): Promise<void> {
  const text = typeof end.result.output === 'string' ? end.result.output : JSON.stringify(end.result.output ?? '');
  await queueStatement(
    tx.em,
    endedStep({
      ...newStepOf(call, Math.max(1, call.attempt)),
      kind: stepKindOf(call.kind),
      status: end.result.status,
      preview: text.slice(0, 2_000).toWellFormed(),
      error: error === null ? null : jsonText(error),
    }),
  );
}

interface AddedRetry {
  readonly callId: string;
  readonly runId: string;
  readonly step: number;
  readonly attempt: number;
  readonly retry: JsonText<readonly StepRetry[]>;
}

const addedRetry = prepared((p: ParametersOf<AddedRetry>) =>
  query
    .updateTable('run_steps')
    .set(({ ref }) => ({ retries: sql<StepRetry[]>`${ref('retries')} || ${p.retry}::jsonb` }))
    .where('runId', '=', p.runId)
    .where('step', '=', p.step)
    .where('toolCallId', '=', p.callId)
    .where('attempt', '=', p.attempt)
    .where(({ ref }) => sql<boolean>`jsonb_array_length(${ref('retries')}) < ${ref('attempt')}`),
);

/** Records why a try of a call ended, at most once per try. */
export async function addRetry(tx: TenantTransaction, call: Pick<CallState, 'id' | 'runId' | 'step'>, retry: StepRetry): Promise<void> {
  const { id: callId, runId, step } = call;
  await change(tx.em, addedRetry({ callId, runId, step, attempt: retry.attempt, retry: jsonText([retry]) }));
}

const claimedCall = prepared(({ callId, attempt }: ParametersOf<{ readonly callId: string; readonly attempt: number }>) =>
  query
    .updateTable('tool_calls')
    .set(({ ref }) => ({
      state: 'executing',
      attempt,
      claimedAt: clockTime,
      deadlineAt: sql<string>`clock_timestamp() + make_interval(secs => ${ref('timeoutS')})`,
    }))
    .where('id', '=', callId)
    .returning('deadlineAt'),
);

/** Claims a call for a try, for the timeout of its tool. Returns the end of that time, or null when the call does not exist. */
export async function writeClaim(tx: TenantTransaction, callId: string, attempt: number): Promise<string | null> {
  const claimed = await row(tx.em, claimedCall({ callId, attempt }));
  return claimed?.deadlineAt ?? null;
}

const openedStep = prepared((p: ParametersOf<NewStep>) =>
  query
    .insertInto('run_steps')
    .values({ ...stepValues(p), kind: 'tool', status: 'running', outputPreview: none, error: none, finishedAt: none, durationMs: none })
    .onConflict((conflict) =>
      conflict.columns(['runId', 'step', 'toolCallId']).doUpdateSet(({ ref }) => ({
        attempt: ref('excluded.attempt'),
        retries: retriesWithLost,
        traceId: ref('excluded.traceId'),
        spanId: ref('excluded.spanId'),
      })),
    ),
);

/** Opens the step of a call for a try, or takes it over from the previous try. Goes with the next statement. */
export async function openToolStep(tx: TenantTransaction, call: CallState, attempt: number, span: StepSpan | null): Promise<void> {
  await queueStatement(tx.em, openedStep(newStepOf(call, attempt, span)));
}

interface EndedCall {
  readonly callId: string;
  /** Undefined: whichever try holds the call. */
  readonly attempt: number | undefined;
  readonly state: CallOutcome['state'];
  readonly output: JsonText<unknown>;
  readonly outputType: ToolResult['outputType'] | null;
  readonly totalChars: number | null;
  readonly truncated: boolean;
  readonly error: JsonText<StepError> | null;
}

const endedCall = prepared((p: ParametersOf<EndedCall>) => {
  const ended = query
    .updateTable('tool_calls')
    .set({
      state: p.state,
      output: jsonb(p.output),
      outputType: p.outputType,
      totalChars: p.totalChars,
      truncated: p.truncated,
      error: jsonb(p.error),
      finishedAt: clockTime,
    })
    .where('id', '=', p.callId)
    .where('state', 'in', literals(...openStates))
    .returning(({ ref }) => [
      sql<number | null>`(extract(epoch from clock_timestamp() - ${ref('claimedAt')}) * 1000)::int`.as('durationMs'),
      sql<boolean>`exists (select from tool_calls o where o.run_id = tool_calls.run_id and o.id <> tool_calls.id
          and (o.state = 'gated' or (o.state in ('ready', 'executing') and (o.client_owned or o.child_run_id is not null))))`.as(
        'hasWaits',
      ),
    ]);
  return p.attempt ? ended.where('attempt', '=', p.attempt).where('state', '=', sql.lit('executing')) : ended;
});

/** Writes the outcome of a call that has none. Returns null when the call already has an outcome, or when a try other than `attempt` holds it. */
export async function writeCallEnd(
  tx: TenantTransaction,
  callId: string,
  { attempt, end: { state, result } }: { readonly attempt: number | null; readonly end: CallOutcome },
) {
  return row(
    tx.em,
    endedCall({
      callId,
      attempt: attempt ?? undefined,
      state,
      output: jsonText(result.output ?? null),
      outputType: result.output === null ? null : result.outputType,
      totalChars: result.totalChars,
      truncated: result.truncated,
      error: result.error === null ? null : jsonText(result.error),
    }),
  );
}
