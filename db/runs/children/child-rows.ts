import { sql } from 'kysely';
import { clockTime, literal, now } from '../../expressions.ts';
import { newId } from '../../ids.ts';
import { spanOfRun } from '../../../ports/telemetry/origin.ts';
import { insertFrom } from '../../insert-from.ts';
import { jsonb, jsonText, type JsonText } from '../../json-text.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { change, row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { CallState } from '../calls/call-state.ts';
import type { ContentBlock } from '../run-types.ts';
import type { UsageTotals } from '../../billing/ledger/usage.ts';
import { isTerminal } from '../../../workflows/contracts/runs/runs.ts';

/** A child run as its parent's call sees it. */
export type ChildRun = NonNullable<Awaited<ReturnType<typeof readChild>>>;

const childRun = prepared(({ runId }: ParametersOf<{ readonly runId: string }>) =>
  query
    .selectFrom('runs as r')
    .select([
      'r.id',
      'r.organizationId',
      'r.workspaceId',
      'r.agentId',
      'r.agentRevisionId',
      'r.agentSlug',
      'r.parentToolCallId',
      'r.status',
    ])
    .select(['r.usageSubtree', 'r.finishReason', 'r.output', 'r.error'])
    .where('r.id', '=', runId),
);

/** Returns the run of a delegate call, even if it was erased. */
export function readChild(tx: TenantTransaction, childRunId: string) {
  return row(tx.em, childRun({ runId: childRunId }));
}

interface ChildUsage {
  readonly runId: string;
  readonly step: number;
  readonly toolCallId: string;
  readonly childRunId: string;
  readonly usage: JsonText<UsageTotals>;
}

const usageOfChild = prepared(({ runId, step, toolCallId, childRunId, usage }: ParametersOf<ChildUsage>) =>
  query
    .updateTable('run_steps')
    .set({ childRunId, usage: jsonb(usage) })
    .where('runId', '=', runId)
    .where('step', '=', step)
    .where('toolCallId', '=', toolCallId),
);

/** Records on the step of a delegate call which run executed it and what that run has cost. */
export async function writeChildUsage(
  tx: TenantTransaction,
  call: Pick<CallState, 'id' | 'runId' | 'step'>,
  child: Pick<ChildRun, 'id' | 'usageSubtree'>,
): Promise<void> {
  const of = { runId: call.runId, step: call.step, toolCallId: call.id };
  await change(tx.em, usageOfChild({ ...of, childRunId: child.id, usage: jsonText(child.usageSubtree) }));
}

const shiftMessages = prepared(({ runId }: ParametersOf<{ readonly runId: string }>) =>
  query
    .updateTable('messages')
    .set(({ eb }) => ({ pos: eb('pos', '+', literal(1)) }))
    .where('runId', '=', runId),
);

interface FirstMessage {
  readonly id: string;
  readonly runId: string;
  readonly content: JsonText<ContentBlock[]>;
}

const insertFirst = prepared(({ id, runId, content }: ParametersOf<FirstMessage>) =>
  insertFrom('messages', query.selectFrom('runs as r').where('r.id', '=', runId), ({ ref }) => ({
    id,
    organizationId: ref('r.organizationId'),
    workspaceId: ref('r.workspaceId'),
    conversationId: ref('r.conversationId'),
    runId: ref('r.id'),
    turn: sql<number>`coalesce(r.turn_no, 0)`,
    pos: literal(0),
    role: literal('user'),
    origin: literal('injected'),
    content: jsonb(content),
    state: literal('pending'),
    attempt: literal(1),
    createdAt: now,
  })),
);

/** Inserts a text before the first message of a run. */
export async function prependMessage(tx: TenantTransaction, runId: string, text: string): Promise<void> {
  await change(tx.em, shiftMessages({ runId }));
  await change(tx.em, insertFirst({ id: newId(), runId, content: jsonText([{ type: 'text', text }]) }));
}

const descendants = prepared(({ rootRunId }: ParametersOf<{ readonly rootRunId: string }>) =>
  query
    .selectFrom('runs as r')
    .crossJoinLateral(sql<{ id: string }>`unnest(r.lineage)`.as<'a'>(sql`a (id)`))
    .where('r.rootRunId', '=', rootRunId)
    .select(['a.id', sql<number>`count(*)::int`.as('below')])
    .groupBy('a.id'),
);

/** Returns the number of runs below each run of a tree, ended ones included. */
export async function countDescendants(tx: TenantTransaction, rootRunId: string): Promise<ReadonlyMap<string, number>> {
  const counted = await rows(tx.em, descendants({ rootRunId }));
  return new Map(counted.map(({ id, below }) => [id, below]));
}

interface ChildClaim {
  readonly callId: string;
  readonly attempt: number;
  readonly childRunId: string;
  readonly seconds: number;
}

const claimForChild = prepared(({ callId, attempt, childRunId, seconds }: ParametersOf<ChildClaim>) =>
  query
    .updateTable('tool_calls')
    .set({
      state: 'executing',
      attempt,
      childRunId,
      claimedAt: clockTime,
      deadlineAt: sql<string>`clock_timestamp() + make_interval(secs => ${seconds})`,
    })
    .where('id', '=', callId)
    .returning('deadlineAt'),
);

/** Claims a call for the run that executes it, for the given number of seconds. Returns the end of that time, or null when the call does not exist. */
export async function writeChildClaim(tx: TenantTransaction, callId: string, claim: Omit<ChildClaim, 'callId'>): Promise<string | null> {
  const claimed = await row(tx.em, claimForChild({ callId, ...claim }));
  return claimed?.deadlineAt ?? null;
}

interface ChildStep {
  readonly id: string;
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly runId: string;
  readonly step: number;
  readonly name: string;
  readonly attempt: number;
  readonly toolCallId: string;
  readonly childRunId: string;
  readonly messageId: string;
  readonly args: JsonText<CallState['args']>;
  readonly traceId: string | null;
  readonly spanId: string | null;
}

const openStep = prepared(({ args, ...values }: ParametersOf<ChildStep>) =>
  query
    .insertInto('run_steps')
    .values({
      ...values,
      kind: 'sub_agent',
      status: 'running',
      args: jsonb(args),
      retries: sql<never[]>`'[]'`,
      startedAt: clockTime,
      createdAt: now,
    })
    .onConflict((conflict) =>
      conflict.columns(['runId', 'step', 'toolCallId']).doUpdateSet(({ ref }) => ({
        attempt: ref('excluded.attempt'),
        childRunId: ref('excluded.childRunId'),
        status: 'running',
        traceId: ref('excluded.traceId'),
        spanId: ref('excluded.spanId'),
      })),
    ),
);

/** Opens the step of a delegate call for the run that executes it, whose span is that of the step. */
export async function openChildStep(
  tx: TenantTransaction,
  call: CallState,
  { attempt, childRunId }: { readonly attempt: number; readonly childRunId: string },
): Promise<void> {
  const span = spanOfRun(childRunId);
  await change(
    tx.em,
    openStep({
      id: newId(),
      organizationId: call.organizationId,
      workspaceId: call.workspaceId,
      runId: call.runId,
      step: call.step,
      name: call.slug,
      attempt,
      toolCallId: call.id,
      childRunId,
      messageId: call.messageId,
      args: jsonText(call.args),
      traceId: span?.traceId ?? null,
      spanId: span?.spanId ?? null,
    }),
  );
}

const causeOf = prepared(({ runId }: ParametersOf<{ readonly runId: string }>) =>
  query.selectFrom('runs as r').select(['r.rootEventId', 'r.eventDepth', 'r.hops']).where('r.id', '=', runId),
);

/** Returns the chain of events behind a run that no person requested, or null when the run does not exist. */
export function readCause(tx: TenantTransaction, runId: string) {
  return row(tx.em, causeOf({ runId }));
}

const childOfCall = prepared(({ toolCallId }: ParametersOf<{ readonly toolCallId: string }>) =>
  query
    .selectFrom('tool_calls as c')
    .innerJoin('runs as r', 'r.id', 'c.childRunId')
    .select(['r.id', 'r.status'])
    .where('c.id', '=', toolCallId),
);

/** Returns the id of a delegate call's run while that run is live, else null. */
export async function readLiveChild(tx: TenantTransaction, toolCallId: string): Promise<string | null> {
  const found = await row(tx.em, childOfCall({ toolCallId }));
  return found === null || isTerminal(found.status) ? null : found.id;
}
