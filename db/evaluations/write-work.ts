import { sql } from 'kysely';
import { clockTime } from '../expressions.ts';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { recordset, recordsetText } from '../recordset.ts';
import { change, row, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { EvaluationStatus } from './evaluation-run.entity.ts';
import { newId } from '../ids.ts';
import type { EvaluationPlace } from './run-ended.ts';

/** Changes of an evaluation in progress; the caller has locked its row. */
export interface EvaluationChange {
  readonly status?: EvaluationStatus;
  readonly failureCode?: string | null;
  readonly summary?: Readonly<Record<string, unknown>>;
  readonly isCancelRequested?: true;
}

/** Writes changes of a locked evaluation; its times follow from its status. */
export async function writeEvaluation(
  tx: TenantTransaction,
  id: string,
  { status, failureCode, summary, isCancelRequested }: EvaluationChange,
) {
  const isTerminal = status === 'succeeded' || status === 'failed' || status === 'cancelled';
  await change(
    tx.em,
    query
      .updateTable('evaluation_runs')
      .where('id', '=', id)
      .set(({ eb, fn }) => ({
        version: eb('version', '+', 1),
        ...(status === undefined ? {} : { status }),
        ...(failureCode === undefined || failureCode === null ? {} : { failureCode }),
        ...(summary === undefined ? {} : { summary }),
        ...(isCancelRequested ? { cancelRequestedAt: fn.coalesce('cancelRequestedAt', clockTime) } : {}),
        ...(status === 'running' ? { startedAt: clockTime } : {}),
        ...(isTerminal ? { finishedAt: clockTime } : {}),
      })),
  );
}

/** The run that was started for a result. */
export interface StartedResult {
  readonly id: string;
  readonly runId: string;
}

/** Stores which runs were started for results. */
export async function recordStarted(tx: TenantTransaction, started: readonly StartedResult[]): Promise<void> {
  if (started.length === 0) return;
  await change(
    tx.em,
    query
      .updateTable('evaluation_results')
      .from(recordset<StartedResult>(recordsetText(started), { id: 'uuid', runId: 'uuid' }).as('d'))
      .set(({ ref }) => ({ status: 'running', runId: ref('d.runId') }))
      .whereRef('evaluation_results.id', '=', 'd.id')
      .where('evaluation_results.status', '=', 'pending'),
  );
}

/** Ends a result whose run could not be started. */
export async function recordNotStarted(tx: TenantTransaction, id: string, reason: string): Promise<void> {
  await change(
    tx.em,
    query
      .updateTable('evaluation_results')
      .set({ status: 'error', reason: reason.slice(0, 2_000), finishedAt: clockTime })
      .where('id', '=', id)
      .where('status', '=', 'pending'),
  );
}

/** Skips all results that have not ended; returns how many. */
export function skipRest(tx: TenantTransaction, evaluationRunId: string, reason: string): Promise<number> {
  return change(
    tx.em,
    query
      .updateTable('evaluation_results')
      .set({ status: 'skipped', reason, votes: {}, finishedAt: clockTime })
      .where('evaluationRunId', '=', evaluationRunId)
      .where('status', 'in', ['pending', 'running', 'scoring']),
  );
}

/** A tool call of a run, with its output. */
export interface CallFacts {
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>> | null;
  readonly output: unknown;
}

/** All that scoring a result requires; `runId` null: the run was purged. `passages`: texts of the messages that hold some. */
export type ClaimedResult = NonNullable<Awaited<ReturnType<typeof claimResult>>>;

const calls = sql<CallFacts[]>`coalesce((
  select jsonb_agg(jsonb_build_object('tool', t.slug, 'arguments', t.args, 'output', t.output) order by t.step, t.pos)
    from tool_calls t where t.run_id = u.id), '[]')`;
const passages = sql<string[]>`coalesce((
  select jsonb_agg(b ->> 'text') from messages m cross join jsonb_array_elements(m.content) b
   where m.run_id = u.id and m.role = 'system' and m.origin = 'system' and b ->> 'type' = 'text'), '[]')`;
/** Ids of the items that citations of the answer name. */
const citedItemIds = sql<string[]>`coalesce((
  select jsonb_agg(b ->> 'item_id') from messages m cross join jsonb_array_elements(m.content) b
   where m.run_id = u.id and m.role = 'assistant' and b ->> 'type' = 'citation' and b ->> 'item_id' is not null), '[]')`;

const claimed = prepared(({ resultId }: ParametersOf<{ readonly resultId: string }>) =>
  query
    .with('c', (of) =>
      of
        .updateTable('evaluation_results')
        .set(({ eb }) => ({ attempts: eb('attempts', '+', 1) }))
        .where('id', '=', resultId)
        .where('status', '=', 'scoring')
        .returning(['id', 'attempts', 'repetition', 'votes', 'itemId', 'runId', 'latencyMs', 'cost', 'tokens', 'turns']),
    )
    .selectFrom('c')
    .innerJoin('evaluation_items as i', 'i.id', 'c.itemId')
    .leftJoin('runs as u', (join) => join.onRef('u.id', '=', 'c.runId').on('u.deletedAt', 'is', null))
    .select(['c.id', 'c.attempts', 'c.repetition', 'c.votes', 'i.itemKey', 'i.contentSha256', 'i.input', 'i.expected', 'i.context'])
    .select(['i.toolsExpected', 'i.evaluatorKeys', 'u.id as runId'])
    .select(({ fn }) => [fn.coalesce('c.latencyMs', sql.lit(0)).as('latencyMs'), fn.coalesce('c.turns', sql.lit(0)).as('turns')])
    .select([
      sql<string>`coalesce(c.cost, 0)::text`.as('cost'),
      sql<{ readonly input: number; readonly output: number }>`coalesce(c.tokens, '{"input": 0, "output": 0}')`.as('tokens'),
      sql<string | null>`u.output ->> 'text'`.as('outputText'),
      sql<unknown>`nullif(u.output -> 'json', 'null')`.as('outputJson'),
    ])
    .select([calls.as('calls'), passages.as('passages'), citedItemIds.as('citedItemIds')]),
);

/** Counts an attempt to score a result and returns what scoring requires, or null when it no longer waits for scores. */
export function claimResult(tx: TenantTransaction, resultId: string) {
  return row(tx.em, claimed({ resultId }));
}

/** The score of an evaluator, to be stored. */
export interface NewScore {
  readonly id: string;
  readonly key: string;
  readonly state: 'done' | 'error' | 'skipped';
  readonly score: number | null;
  readonly passed: boolean | null;
  readonly reason: string | null;
  readonly errorCode: string | null;
  readonly details: Readonly<Record<string, unknown>>;
}

/** How a result ends. */
export interface ResultEnd {
  readonly status: 'passed' | 'failed' | 'error' | 'skipped';
  readonly score: number | null;
  readonly reason: string | null;
  readonly scores: readonly NewScore[];
}

/** Ends a result together with all its scores, once; returns false when it has ended before. */
export async function endResult(tx: TenantTransaction, resultId: string, { status, score, reason, scores }: ResultEnd): Promise<boolean> {
  const drafts = recordset<NewScore>(recordsetText(scores), {
    id: 'uuid',
    key: 'text',
    state: 'text',
    score: 'numeric',
    passed: 'boolean',
    reason: 'text',
    errorCode: 'text',
    details: 'jsonb',
  });
  const ended = await rows(
    tx.em,
    query
      .with('ended', (of) =>
        of
          .updateTable('evaluation_results')
          .set({ status, score: score === null ? null : String(score), reason, votes: {}, finishedAt: clockTime })
          .where('id', '=', resultId)
          .where('status', '=', 'scoring')
          .returning(['id', 'organizationId', 'workspaceId']),
      )
      .with('written', (of) =>
        of
          .insertInto('evaluation_scores')
          .columns([
            'id',
            'organizationId',
            'workspaceId',
            'resultId',
            'evaluatorKey',
            'state',
            'score',
            'passed',
            'reason',
            'errorCode',
            'details',
          ])
          .expression(({ selectFrom }) =>
            selectFrom('ended as e')
              .innerJoin(drafts.as('d'), (join) => join.onTrue())
              .select([
                'd.id',
                'e.organizationId',
                'e.workspaceId',
                'e.id as resultId',
                'd.key as evaluatorKey',
                'd.state',
                'd.score',
                'd.passed',
              ])
              .select(['d.reason', 'd.errorCode', 'd.details']),
          ),
      )
      .selectFrom('ended')
      .select('ended.id'),
  );
  return ended.length > 0;
}

/** Links an attachment to an evaluation, so that it does not expire. */
export async function linkExport(
  tx: TenantTransaction,
  { id, organizationId, workspaceId }: EvaluationPlace,
  attachmentId: string,
): Promise<void> {
  await change(
    tx.em,
    query
      .with('held', (of) => of.updateTable('attachments').set({ expiresAt: null }).where('id', '=', attachmentId).returning('id'))
      .insertInto('attachment_links')
      .columns(['id', 'attachmentId', 'organizationId', 'workspaceId', 'ownerKind', 'ownerId', 'createdAt'])
      .expression(({ selectFrom }) =>
        selectFrom('held')
          .select([sql<string>`${newId()}::uuid`.as('id'), 'held.id as attachmentId'])
          .select([sql<string>`${organizationId}::uuid`.as('organizationId'), sql<string>`${workspaceId}::uuid`.as('workspaceId')])
          .select([sql.lit('evaluation').as('ownerKind'), sql<string>`${id}::uuid`.as('ownerId'), sql<string>`now()`.as('createdAt')]),
      )
      .onConflict((conflict) => conflict.doNothing()),
  );
}
