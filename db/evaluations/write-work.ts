import { sql } from 'kysely';
import { query } from '../query.ts';
import { change, row, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { EvaluationStatus } from './evaluation-run.entity.ts';
import type { KeyedBill } from '../billing/ledger/call-bill.ts';
import { newId } from '../ids.ts';
import type { EvaluationPlace } from './run-ended.ts';
import type { ClaimedResult, StoredVote } from './work.ts';

const now = sql<string>`clock_timestamp()`;

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
        ...(isCancelRequested ? { cancelRequestedAt: fn.coalesce('cancelRequestedAt', now) } : {}),
        ...(status === 'running' ? { startedAt: now } : {}),
        ...(isTerminal ? { finishedAt: now } : {}),
      })),
  );
}

/** Stores which runs were started for results. */
export async function noteStarted(
  tx: TenantTransaction,
  started: readonly { readonly id: string; readonly run_id: string }[],
): Promise<void> {
  if (started.length === 0) return;
  await rows(
    tx.em,
    `update evaluation_results r set status = 'running', run_id = d.run_id from jsonb_to_recordset(?::jsonb) as d(id uuid, run_id uuid)
      where r.id = d.id and r.status = 'pending'`,
    [JSON.stringify(started)],
  );
}

/** Ends a result whose run could not be started. */
export async function noteNotStarted(tx: TenantTransaction, id: string, reason: string): Promise<void> {
  await change(
    tx.em,
    query
      .updateTable('evaluation_results')
      .set({ status: 'error', reason: reason.slice(0, 2_000), finishedAt: now })
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
      .set({ status: 'skipped', reason, votes: {}, finishedAt: now })
      .where('evaluationRunId', '=', evaluationRunId)
      .where('status', 'in', ['pending', 'running', 'scoring']),
  );
}

/** Counts an attempt to score a result and returns what scoring requires, or null when it no longer waits for scores. */
export function claimResult(tx: TenantTransaction, resultId: string): Promise<ClaimedResult | null> {
  return row<ClaimedResult>(
    tx.em,
    `with c as (update evaluation_results set attempts = attempts + 1 where id = ? and status = 'scoring' returning *)
     select c.id, c.attempts, c.repetition, c.votes, i.item_key as "itemKey", i.content_sha256 as "contentSha256", i.input, i.expected, i.context,
            i.tools_expected as "toolsExpected", i.evaluator_keys as "evaluatorKeys", coalesce(c.latency_ms, 0) as "latencyMs", coalesce(c.cost, 0)::text as cost,
            coalesce(c.tokens, '{"input": 0, "output": 0}') as tokens, coalesce(c.turns, 0) as turns, u.id as "runId",
            u.output ->> 'text' as "outputText", nullif(u.output -> 'json', 'null') as "outputJson",
            coalesce((select jsonb_agg(jsonb_build_object('tool', t.slug, 'arguments', t.args, 'output', t.output) order by t.step, t.pos)
                        from tool_calls t where t.run_id = u.id), '[]') as calls,
            coalesce((select jsonb_agg(b ->> 'text') from messages m cross join jsonb_array_elements(m.content) b
                       where m.run_id = u.id and m.role = 'system' and m.origin = 'system' and b ->> 'type' = 'text'), '[]') as passages,
            coalesce((select jsonb_agg(b ->> 'item_id') from messages m cross join jsonb_array_elements(m.content) b
                       where m.run_id = u.id and m.role = 'assistant' and b ->> 'type' = 'citation' and b ->> 'item_id' is not null), '[]') as "citedItemIds"
       from c join evaluation_items i on i.id = c.item_id left join runs u on u.id = c.run_id and u.deleted_at is null`,
    [resultId],
  );
}

const isGiven = `coalesce(jsonb_exists(votes -> ?::text, 'value'), false)`;

/**
 * Records that a vote is being requested now. Returns false when another attempt scores the result by now, or the vote is already stored: then it must not be
 * requested.
 */
export async function markAsked(
  tx: TenantTransaction,
  { id, attempts }: Pick<ClaimedResult, 'id' | 'attempts'>,
  { name, bill }: { readonly name: string; readonly bill: KeyedBill },
): Promise<boolean> {
  const marked = await row(
    tx.em,
    `update evaluation_results set votes = votes || jsonb_build_object(?::text, jsonb_build_object('asked', ?::jsonb))
      where id = ? and attempts = ? and status = 'scoring' and not ${isGiven} returning id`,
    [name, JSON.stringify(bill), id, attempts, name],
  );
  return marked !== null;
}

/** Removes the record that a vote was requested under this call key. Does nothing where another call, or the vote itself, has replaced it. */
export async function unmarkAsked(
  tx: TenantTransaction,
  resultId: string,
  { name, callKey }: { readonly name: string; readonly callKey: string },
) {
  await rows(tx.em, `update evaluation_results set votes = votes - ?::text where id = ? and votes #>> array[?, 'asked', 'callKey'] = ?`, [
    name,
    resultId,
    name,
    callKey,
  ]);
}

/** Stores a vote of a judge, once: a later one of the same name changes nothing. */
export async function storeVote(tx: TenantTransaction, resultId: string, name: string, vote: StoredVote): Promise<void> {
  await rows(
    tx.em,
    `update evaluation_results set votes = votes || jsonb_build_object(?::text, ?::jsonb) where id = ? and status = 'scoring' and not ${isGiven}`,
    [name, JSON.stringify(vote), resultId, name],
  );
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
  const ended = await rows(
    tx.em,
    `with ended as (
       update evaluation_results set status = ?, score = ?, reason = ?, votes = '{}', finished_at = clock_timestamp() where id = ? and status = 'scoring'
       returning id, organization_id, workspace_id),
     written as (
       insert into evaluation_scores (id, organization_id, workspace_id, result_id, evaluator_key, state, score, passed, reason, error_code, details)
       select d.id, e.organization_id, e.workspace_id, e.id, d.key, d.state, d.score, d.passed, d.reason, d."errorCode", d.details
         from ended e cross join jsonb_to_recordset(?::jsonb) as d(id uuid, key text, state text, score numeric, passed boolean, reason text, "errorCode" text, details jsonb))
     select id from ended`,
    [status, score, reason, resultId, JSON.stringify(scores)],
  );
  return ended.length > 0;
}

/** Links an attachment to an evaluation, so that it does not expire. */
export async function linkExport(
  tx: TenantTransaction,
  { id, organizationId, workspaceId }: EvaluationPlace,
  attachmentId: string,
): Promise<void> {
  await rows(
    tx.em,
    `with held as (update attachments set expires_at = null where id = ? returning id)
     insert into attachment_links (id, attachment_id, organization_id, workspace_id, owner_kind, owner_id, created_at)
     select ?, held.id, ?, ?, 'evaluation', ?, now() from held on conflict do nothing`,
    [attachmentId, newId(), organizationId, workspaceId, id],
  );
}
