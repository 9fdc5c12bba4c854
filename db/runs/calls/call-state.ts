import { type Expression, type NotNull, sql } from 'kysely';
import { jsonBuildObject } from 'kysely/helpers/postgres';
import { isTerminal, type ToolCallState, type ToolKind } from '../../../workflows/contracts/runs/runs.ts';
import { anyId, literals } from '../../expressions.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { row, rows } from '../../sql.ts';
import type { RunIdentity } from '../../streams/frame-text.ts';
import { isToolOn } from '../../tools/tool-on.sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { Manifest } from '../start/manifest.ts';
import { lostEntries } from '../steps/retries.ts';
import { inactiveSql, pathOf } from '../run-state.ts';
import type { StepRetry } from '../run-types.ts';

/** A call's row with data of its run and message, locked until the end of the transaction. */
export type CallState = Awaited<ReturnType<typeof lockCalls>>[number];

/** The tool's row at the time of the call. */
export type LiveTool = NonNullable<CallState['live']>;

function selectCalls() {
  return (
    query
      .selectFrom('tool_calls as c')
      .innerJoin('runs as r', 'r.id', 'c.runId')
      .innerJoin('messages as m', 'm.id', 'c.messageId')
      .select(['c.id', 'c.runId', 'c.organizationId', 'c.workspaceId', 'c.step', 'c.pos', 'c.messageId', 'c.toolId', 'c.slug', 'c.kind'])
      .select(['c.effect', 'c.concurrency', 'c.isIdempotent', 'c.timeoutS', 'c.responseMaxChars', 'c.args', 'c.argsHash', 'c.state'])
      .select(['c.attempt', 'c.claimedAt', 'c.deadlineAt', 'c.childRunId', 'c.gate', 'c.critical', 'c.clientOwned'])
      .select(['r.conversationId', 'r.rootRunId', 'r.parentRunId', 'r.agentSlug', 'r.path as runPath', 'r.turnNo', 'r.status as runStatus'])
      .select(['r.subjectKind', 'r.subjectId', 'r.maxEffect', 'r.hops', 'm.pos as messagePos'])
      .select(({ ref }) => [
        ref('r.input').$castTo<{ readonly text?: string; readonly json?: unknown }>().as('runInput'),
        ref('r.manifest').$castTo<Manifest | null>().as('manifest'),
        retriesOf,
        approved,
        isFrozen,
      ])
      // Read live, because switching off a tool takes effect at its next call. Null: the tool has no row, or its row is deleted.
      .select(({ selectFrom }) =>
        selectFrom('tools as t')
          .select(({ ref }) =>
            jsonBuildObject({
              scope: ref('t.scope'),
              effect: ref('t.effect'),
              critical: ref('t.critical'),
              clientOwned: ref('t.clientOwned'),
              isActive: sql.raw<boolean>(isToolOn('t')),
              isQuarantined: sql<boolean>`${ref('t.quarantinedAt')} is not null`,
            }).as('described'),
          )
          .whereRef('t.id', '=', 'c.toolId')
          .where('t.deletedAt', 'is', null)
          .as('live'),
      )
      .forNoKeyUpdate('c')
      // A call is written with its arguments.
      .$narrowType<{ args: NotNull; argsHash: NotNull }>()
  );
}

/** Tries that ended without a result, as recorded in the call's step. */
const retriesOf = sql<StepRetry[]>`coalesce(
  (select s.retries from run_steps s where s.run_id = c.run_id and s.step = c.step and s.tool_call_id = c.id), '[]'::jsonb)`.as('retries');

/** What people have approved of the call so far; `critical`: an admin approved it knowing that it is critical. */
const approved = sql<'nothing' | 'plain' | 'critical'>`case (
  select bool_or(a.critical) from approvals a where a.tool_call_id = c.id and a.status in ('approved', 'edited'))
  when true then 'critical' when false then 'plain' else 'nothing' end`.as('approved');

/** The run's workspace or organization takes no more work. */
const isFrozen = sql.raw<boolean>(inactiveSql('c.workspace_id')).as('isFrozen');

/** States of a call without a result. */
export const openStates: readonly ToolCallState[] = ['recorded', 'gated', 'ready', 'executing'];

const oneCall = prepared(({ runId, toolCallId }: ParametersOf<{ readonly runId: string; readonly toolCallId: string }>) =>
  selectCalls().where('c.id', '=', toolCallId).where('c.runId', '=', runId),
);

/** Locks a call; returns null when it does not exist. */
export function lockCall(tx: TenantTransaction, runId: string, toolCallId: string): Promise<CallState | null> {
  return row(tx.em, oneCall({ runId, toolCallId }));
}

/** The calls of runs, those of each run in the order in which the model asked for them. */
const callsOf = (runIds: Expression<readonly string[]>) =>
  selectCalls().where('c.runId', '=', anyId(runIds)).orderBy('c.runId').orderBy('c.step').orderBy('c.pos');

const namedCalls = prepared(({ runIds, ids }: ParametersOf<{ readonly runIds: readonly string[]; readonly ids: readonly string[] }>) =>
  callsOf(runIds).where('c.id', '=', anyId(ids)),
);

/** Locks calls of the given runs by id; ids that belong to none of these runs are left out. */
export function lockCalls(tx: TenantTransaction, runIds: readonly string[], ids: readonly string[]) {
  return rows(tx.em, namedCalls({ runIds, ids }));
}

const openCalls = prepared(({ runIds }: ParametersOf<{ readonly runIds: readonly string[] }>) =>
  callsOf(runIds).where('c.state', 'in', literals(...openStates)),
);

/** Locks the calls of runs that have no result yet; those of each run in the order in which the model asked for them. */
export function lockOpenCalls(tx: TenantTransaction, runIds: readonly string[]): Promise<CallState[]> {
  return rows(tx.em, openCalls({ runIds }));
}

export function isOpen(call: CallState): boolean {
  return openStates.includes(call.state) && !isTerminal(call.runStatus);
}

/** Whether the call can safely be executed again. */
export function isRepeatable(call: CallState): boolean {
  return call.effect === 'read' || call.isIdempotent;
}

/** Returns the number of tries whose worker died. An open try counts too, since the caller has found it without a result. */
export function lostTries(call: CallState): number {
  return lostEntries(call.retries) + (isHeld(call) ? 1 : 0);
}

/** Whether a try is executing the call and has not reported its outcome. */
export function isHeld(call: CallState): boolean {
  return call.state === 'executing' && call.retries.length < call.attempt;
}

/** Returns the kind of the call's step. */
export function stepKindOf(kind: ToolKind | null): 'tool' | 'sub_agent' {
  return kind === 'delegate' ? 'sub_agent' : 'tool';
}

/** The run identity that the call's frames carry. */
export function identityOfCall(call: CallState): RunIdentity {
  return {
    runId: call.runId,
    rootRunId: call.rootRunId,
    parentRunId: call.parentRunId,
    organizationId: call.organizationId,
    workspaceId: call.workspaceId,
    path: pathOf({ path: call.runPath, agent_slug: call.agentSlug }),
  };
}

/** The result of a call that has ended with one. */
export type StoredResult = Awaited<ReturnType<typeof readResults>>[number];

const storedResults = prepared(({ ids }: ParametersOf<{ readonly ids: readonly string[] }>) =>
  query
    .selectFrom('tool_calls as c')
    .select(['c.id', 'c.output', 'c.error'])
    .where('c.id', '=', anyId(ids))
    .where('c.state', 'in', literals('succeeded', 'failed')),
);

function readResults(tx: TenantTransaction, ids: readonly string[]) {
  return rows(tx.em, storedResults({ ids }));
}

/** Returns the results of calls by id; calls without a result are left out. */
export async function readStoredResults(tx: TenantTransaction, ids: readonly string[]): Promise<Map<string, StoredResult>> {
  return new Map((await readResults(tx, ids)).map((result) => [result.id, result]));
}
