import { sql } from 'kysely';
import { clockTime, now } from '../../expressions.ts';
import { newId } from '../../ids.ts';
import { insertFrom } from '../../insert-from.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import type { StepError } from '../../runs/run-types.ts';
import { change } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** A step of a run that is neither a model call nor a tool call. */
export interface SystemStep {
  readonly runId: string;
  readonly step: number;
  readonly name: string;
  readonly attempt: number;
}

const opening = prepared(({ id, runId, step, name, attempt }: ParametersOf<SystemStep & { readonly id: string }>) =>
  insertFrom(
    'run_steps',
    query.selectFrom('runs as r').where('r.id', '=', runId).where('r.status', '=', 'running').where('r.deletedAt', 'is', null),
    ({ ref }) => ({
      id: sql<string>`${id}::uuid`,
      organizationId: ref('r.organizationId'),
      workspaceId: ref('r.workspaceId'),
      runId: ref('r.id'),
      step: sql<number>`${step}::int`,
      kind: sql.lit('system'),
      name: sql<string>`${name}::text`,
      status: sql.lit('running'),
      attempt: sql<number>`${attempt}::int`,
      retries: sql<[]>`'[]'::jsonb`,
      startedAt: clockTime,
      createdAt: now,
    }),
  ).onConflict((conflict) =>
    conflict.columns(['runId', 'step', 'toolCallId']).doUpdateSet(({ ref }) => ({
      status: 'running',
      attempt: sql<number>`greatest(${ref('run_steps.attempt')}, ${ref('excluded.attempt')})`,
      error: null,
      finishedAt: null,
      durationMs: null,
    })),
  ),
);

/** Opens such a step, or reopens it if it was open or has failed. Returns false when the run takes no more steps. */
export async function openSystemStep(tx: TenantTransaction, { runId, step, name, attempt }: SystemStep): Promise<boolean> {
  return (await change(tx.em, opening({ id: newId(), runId, step, name, attempt }))) > 0;
}

interface EndedStep {
  readonly runId: string;
  readonly step: number;
  readonly status: 'succeeded' | 'failed';
  /** JSON. */
  readonly error: string | null;
}

const closing = prepared(({ runId, step, status, error }: ParametersOf<EndedStep>) =>
  query
    .with('ended', (of) =>
      of
        .updateTable('run_steps')
        .set(({ ref }) => ({
          status,
          error: sql<StepError | null>`${error}::jsonb`,
          finishedAt: clockTime,
          durationMs: sql<number>`extract(epoch from clock_timestamp() - ${ref('startedAt')}) * 1000`,
        }))
        .where('runId', '=', runId)
        .where('step', '=', step)
        .where('toolCallId', 'is', null)
        .where('status', '=', 'running'),
    )
    .updateTable('runs')
    .set(({ ref }) => ({ steps: sql<number>`greatest(${ref('steps')}, ${step}::int)`, updatedAt: now }))
    .where('id', '=', runId)
    .where('status', 'in', ['running', 'waiting']),
);

/** Closes the step as succeeded or failed; one that the end of its run has closed stays as it is. */
export async function closeSystemStep(
  tx: TenantTransaction,
  { runId, step }: Pick<SystemStep, 'runId' | 'step'>,
  fault: StepError | null,
): Promise<void> {
  const status = fault === null ? 'succeeded' : 'failed';
  await change(tx.em, closing({ runId, step, status, error: fault && JSON.stringify(fault) }));
}
