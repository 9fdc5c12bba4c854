import type { StepSpan } from '../../../ports/telemetry/origin.ts';
import { type Expression, type NotNull, sql } from 'kysely';
import type { RetryCause } from '../../streams/frame.schema.ts';
import { clockTime, msSince, now } from '../../expressions.ts';
import { newId } from '../../ids.ts';
import { insertFrom } from '../../insert-from.ts';
import { jsonb, jsonText, type JsonText } from '../../json-text.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { change, row, queueStatement } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { attemptOf } from '../calls/call-in-flight.ts';
import { noRetries, retriesWithLost } from './retries.ts';
import { readPlannedCalls, type StoredCall } from '../calls/planned-calls.ts';
import type { RunState } from '../run-state.ts';
import type { StepError, StepRetry } from '../run-types.ts';
import type { StopReason } from '../run-frames.ts';

/** A failed try of a model step, and how long the next try waits. */
export interface FailedTry {
  readonly runId: string;
  readonly step: number;
  readonly attempt: number;
  readonly cause: RetryCause;
  readonly error: StepError;
  readonly delayMs: number;
}

interface ModelStep {
  readonly runId: string;
  readonly step: number;
}

interface ModelTry extends ModelStep {
  readonly attempt: number;
}

function selectAnswer(runId: Expression<string>, step: Expression<number>) {
  return query
    .selectFrom('messages')
    .select(['id', 'stopReason'])
    .where('runId', '=', runId)
    .where('step', '=', step)
    .where('role', '=', sql.lit('assistant'))
    .where('stopReason', 'is not', null)
    .$narrowType<{ stopReason: NotNull }>();
}

const storedAnswer = prepared(({ runId, step }: ParametersOf<ModelStep>) => selectAnswer(runId, step));

/** A step that an earlier try has stored. */
export interface StoredStep {
  readonly kind: 'stored';
  readonly stopReason: StopReason;
  readonly calls: readonly StoredCall[];
}

/** Returns the answer that an earlier try has stored, or null. */
export async function readStoredStep(tx: TenantTransaction, runId: string, step: number): Promise<StoredStep | null> {
  const message = await row(tx.em, storedAnswer({ runId, step }));
  if (!message) return null;
  return { kind: 'stored', stopReason: message.stopReason, calls: await readPlannedCalls(tx, message.id) };
}

/** The row of a step after its claim. */
export type ClaimedRow = NonNullable<Awaited<ReturnType<typeof claimStep>>>;

interface NewTry extends ModelStep {
  readonly id: string;
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly name: string;
  readonly over: number | null;
  readonly traceId: string | null;
  readonly spanId: string | null;
}

const newTry = prepared((p: ParametersOf<NewTry>) =>
  insertFrom(
    'run_steps',
    query.selectNoFrom([]).where(({ not, exists }) => not(exists(selectAnswer(p.runId, p.step)))),
    () => ({
      id: p.id,
      organizationId: p.organizationId,
      workspaceId: p.workspaceId,
      runId: p.runId,
      step: p.step,
      kind: sql.lit('model'),
      name: p.name,
      status: sql.lit('running'),
      attempt: sql.lit(1),
      retries: noRetries,
      traceId: p.traceId,
      spanId: p.spanId,
      startedAt: clockTime,
      createdAt: now,
    }),
  )
    .onConflict((conflict) =>
      conflict
        .columns(['runId', 'step', 'toolCallId'])
        .doUpdateSet(({ eb, lit }) => ({
          attempt: eb('run_steps.attempt', '+', lit(1)),
          status: sql.lit('running'),
          error: null,
          firstTokenAt: null,
          finishedAt: null,
          durationMs: null,
          startedAt: clockTime,
          retries: retriesWithLost,
          traceId: p.traceId,
          spanId: p.spanId,
        }))
        .where(({ eb, or, ref }) =>
          or([
            eb('run_steps.status', '<>', sql.lit('running')),
            sql<boolean>`jsonb_array_length(${ref('run_steps.retries')}) >= ${ref('run_steps.attempt')}`,
            eb('run_steps.attempt', '=', sql<number>`${p.over}::int`),
          ]),
        ),
    )
    .returning(({ ref }) => [
      'run_steps.attempt',
      'run_steps.retries',
      sql<string | null>`old.error ->> 'message'`.as('lastError'),
      attemptOf(ref('run_steps.inFlight')).as('inFlight'),
    ]),
);

/**
 * Claims a step for a new try. Returns null where an earlier try has stored the step, or holds it and is not `over`. A try with an entry in `retries` has
 * reported its outcome.
 */
export function claimStep(
  tx: TenantTransaction,
  run: RunState,
  { step, over, span }: { readonly step: number; readonly over: number | null; readonly span: StepSpan | null },
) {
  return row(
    tx.em,
    newTry({
      id: newId(),
      organizationId: run.organization_id,
      workspaceId: run.workspace_id,
      runId: run.id,
      step,
      name: run.manifest?.models[0] ?? 'model',
      over,
      traceId: span?.traceId ?? null,
      spanId: span?.spanId ?? null,
    }),
  );
}

const holder = prepared(({ runId, step }: ParametersOf<ModelStep>) =>
  query.selectFrom('run_steps').select('attempt').where('runId', '=', runId).where('step', '=', step).where('toolCallId', 'is', null),
);

/** Returns the try that holds a step. */
export async function holderOf(tx: TenantTransaction, runId: string, step: number): Promise<number> {
  const held = await row(tx.em, holder({ runId, step }));
  if (!held) throw new Error('the claim of a step gave no row');
  return held.attempt;
}

/** An update of the step that a try holds. */
function updateHeld({ runId, step, attempt }: ParametersOf<ModelTry>) {
  return query
    .updateTable('run_steps')
    .where('runId', '=', runId)
    .where('step', '=', step)
    .where('toolCallId', 'is', null)
    .where('attempt', '=', attempt)
    .where('status', '=', sql.lit('running'));
}

const failedTry = prepared((p: ParametersOf<ModelTry & { error: JsonText<StepError>; retry: JsonText<readonly StepRetry[]> }>) =>
  updateHeld(p).set(({ ref }) => ({
    status: 'failed',
    error: jsonb(p.error),
    retries: sql<StepRetry[]>`${ref('retries')} || ${p.retry}::jsonb`,
    finishedAt: clockTime,
    durationMs: msSince(ref('startedAt')),
  })),
);

/** Records why a try of a step failed. Returns false when a later try holds the step. */
export async function writeFailedTry(
  tx: TenantTransaction,
  { runId, step, attempt, error }: Pick<FailedTry, 'runId' | 'step' | 'attempt' | 'error'>,
  retry: StepRetry,
): Promise<boolean> {
  return (await change(tx.em, failedTry({ runId, step, attempt, error: jsonText(error), retry: jsonText([retry]) }))) === 1;
}

/** The entry of a try that left neither result nor error. */
export interface LostRetry {
  readonly attempt: number;
  readonly cause: 'worker_lost';
  readonly error_code: null;
}

interface Correction extends ModelStep {
  readonly toolCallId: string | null;
  readonly from: string;
  readonly to: string;
  readonly holdsFrom: string;
}

const correctedRetry = prepared(({ runId, step, toolCallId, from, to, holdsFrom }: ParametersOf<Correction>) =>
  query
    .updateTable('run_steps')
    .set(({ ref }) => ({
      retries: sql<StepRetry[]>`(
         select jsonb_agg(case when e.entry @> ${from}::jsonb then e.entry || ${to}::jsonb else e.entry end order by e.n)
           from jsonb_array_elements(${ref('run_steps.retries')}) with ordinality as e(entry, n))`,
    }))
    .where('runId', '=', runId)
    .where('step', '=', step)
    .where('toolCallId', 'is not distinct from', toolCallId)
    .where(({ ref }) => sql<boolean>`${ref('retries')} @> ${holdsFrom}::jsonb`),
);

/** Corrects the entry of a try in its step's `retries`. Goes with the next statement; changes nothing where there is no such entry. */
export async function correctRetry(
  tx: TenantTransaction,
  { runId, step, toolCallId }: { readonly runId: string; readonly step: number; readonly toolCallId: string | null },
  { from, to }: { readonly from: LostRetry; readonly to: { readonly error_code: string } },
): Promise<void> {
  const entry = JSON.stringify(from);
  await queueStatement(tx.em, correctedRetry({ runId, step, toolCallId, from: entry, to: JSON.stringify(to), holdsFrom: `[${entry}]` }));
}

const takenBack = prepared((p: ParametersOf<ModelTry>) =>
  query
    .with('taken', () =>
      updateHeld(p)
        .set(({ eb, lit }) => ({ attempt: eb('attempt', '-', lit(1)) }))
        .returning('id'),
    )
    .selectFrom('run_steps as s')
    .select('s.id')
    .where('s.runId', '=', p.runId)
    .where('s.step', '=', p.step)
    .where('s.toolCallId', 'is', null)
    .where(({ eb, exists, or, selectFrom }) =>
      or([eb('s.attempt', '=', sql<number>`${p.attempt}::int - 1`), exists(selectFrom('taken').select('taken.id'))]),
    ),
);

/**
 * Takes back a claim, so that the step's next try gets the same number again. Returns false when a later try holds the step. Taking back the same claim
 * twice returns true again.
 */
export async function takeBackClaim(
  tx: TenantTransaction,
  { runId, step, attempt }: { readonly runId: string; readonly step: number; readonly attempt: number },
): Promise<boolean> {
  return (await row(tx.em, takenBack({ runId, step, attempt }))) !== null;
}
