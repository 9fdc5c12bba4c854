import { sql } from 'kysely';
import { now } from '../../expressions.ts';
import { jsonb, jsonText, type JsonText } from '../../json-text.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { change, row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import { queued } from '../live.ts';
import type { RunState } from '../run-state.ts';
import type { RunError } from '../run-types.ts';
import { hardDeadlineDays, type ConversationRow, type WaitingPosition } from './conversations.ts';

const activate = prepared(({ conversationId }: ParametersOf<{ readonly conversationId: string }>) =>
  query
    .with('next', (of) =>
      of
        .selectFrom('runs as r')
        .select('r.id')
        .where('r.conversationId', '=', conversationId)
        .where('r.status', '=', queued)
        .where('r.queueNo', 'is not', null)
        .orderBy('r.queueNo')
        .limit(sql.lit(1))
        .forNoKeyUpdate(),
    )
    .with('activated', (of) =>
      of
        .updateTable('runs')
        .from(['next', 'conversations as c'])
        .set(({ eb }) => ({
          queueNo: null,
          activatedAt: now,
          hardDeadlineAt: sql<string>`now() + interval '${sql.raw(String(hardDeadlineDays))} days'`,
          turnNo: eb('c.turnNo', '+', sql.lit(1)),
          updatedAt: now,
        }))
        .whereRef('runs.id', '=', 'next.id')
        .whereRef('c.id', '=', 'runs.conversationId')
        .where('runs.status', '=', queued)
        .returning(['runs.id', 'runs.organizationId', 'runs.workspaceId', 'runs.agentId', 'runs.agentSlug', 'runs.path', 'runs.rootRunId'])
        .returning(['runs.parentRunId', 'runs.source', 'runs.turnNo']),
    )
    .with('placed', (of) =>
      of
        .updateTable('messages')
        .from('activated')
        .set(({ ref }) => ({ turn: ref('activated.turnNo').$notNull() }))
        .whereRef('messages.runId', '=', 'activated.id'),
    )
    .with('moved', (of) =>
      of
        .updateTable('conversations')
        .set(({ selectFrom }) => ({
          activeRunId: selectFrom('activated').select('activated.id'),
          turnNo: sql<number>`coalesce((select a.turn_no from activated a), conversations.turn_no)`,
          // Recounted, so that a wrong length is corrected here.
          queueLength: sql<number>`(select count(*) from runs q where q.conversation_id = conversations.id and q.status = 'queued' and q.queue_no is not null)
            - (select count(*) from activated a)`,
        }))
        .where('id', '=', conversationId),
    )
    .selectFrom('activated as a')
    .select([
      'a.id',
      'a.organizationId',
      'a.workspaceId',
      'a.agentId',
      'a.agentSlug',
      'a.path',
      'a.rootRunId',
      'a.parentRunId',
      'a.source',
    ]),
);

/** Makes the first run of the queue active and gives it its turn; without a queued run the conversation becomes free. Returns the run, or null. */
export function activateFirst(tx: TenantTransaction, conversationId: string) {
  return row(tx.em, activate({ conversationId }));
}

const delayed = prepared(({ runId }: ParametersOf<{ readonly runId: string }>) =>
  query
    .selectFrom('runs as r')
    .where('r.id', '=', runId)
    .where('r.status', '=', queued)
    .where('r.queueNo', 'is', null)
    .where('r.activatedAt', 'is', null)
    .where('r.startAfter', 'is not', null)
    .select('r.onBusy')
    .select(sql<number>`greatest(0, ceil(extract(epoch from r.start_after - clock_timestamp()) * 1000))::float8`.as('dueInMs')),
);

/** Returns null for a run that is not, or no longer, delayed. */
export function readDelayed(tx: TenantTransaction, runId: string) {
  return row(tx.em, delayed({ runId }));
}

interface Enqueued {
  readonly runId: string;
  readonly conversationId: string;
  readonly queueNo: number;
  /** By how much the next place moves. */
  readonly step: number;
}

const enqueue = prepared(({ runId, conversationId, queueNo, step }: ParametersOf<Enqueued>) =>
  query
    .with('longer', (of) =>
      of
        .updateTable('conversations')
        .set(({ eb }) => ({ queueLength: eb('queueLength', '+', sql.lit(1)), nextQueueNo: eb('nextQueueNo', '+', step) }))
        .where('id', '=', conversationId),
    )
    .updateTable('runs')
    .set({ queueNo, updatedAt: now })
    .where('id', '=', runId)
    .where('status', '=', queued),
);

/** Puts a delayed run into the queue. */
export async function enqueueRun(
  tx: TenantTransaction,
  { run, conversation }: { readonly run: Pick<RunState, 'id'>; readonly conversation: Pick<ConversationRow, 'id'> },
  line: WaitingPosition,
): Promise<void> {
  await change(tx.em, enqueue({ runId: run.id, conversationId: conversation.id, queueNo: line.queueNo, step: line.isFirst ? 0 : 1 }));
}

interface FailedEnd {
  readonly runId: string;
  readonly error: JsonText<RunError>;
  readonly finishedAt: Date;
}

const endQueued = prepared(({ runId, error, finishedAt }: ParametersOf<FailedEnd>) =>
  query
    .with('discarded', (of) =>
      of
        .updateTable('messages')
        .set({ state: sql.lit('discarded') })
        .where('runId', '=', runId)
        .where('state', '=', sql.lit('pending')),
    )
    .updateTable('runs')
    .set({ status: 'failed', finishReason: 'error', error: jsonb(error), finishedAt, updatedAt: finishedAt })
    .where('id', '=', runId)
    .where('status', '=', queued),
);

/** Ends a queued run with an error and discards its question. */
export async function failQueued(
  tx: TenantTransaction,
  runId: string,
  { error, finishedAt }: { readonly error: RunError; readonly finishedAt: Date },
): Promise<void> {
  await change(tx.em, endQueued({ runId, error: jsonText(error), finishedAt }));
}
