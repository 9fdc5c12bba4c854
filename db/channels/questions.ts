import { sql } from 'kysely';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/** A question of the agent to its thread. */
export type ChannelQuestion = NonNullable<Awaited<ReturnType<typeof readOpenQuestion>>>;

const openQuestion = prepared(({ runId }: ParametersOf<{ readonly runId: string }>) => {
  const questions = query
    .selectFrom('approvals as a')
    .where('a.rootRunId', '=', query.selectFrom('runs').where('id', '=', runId).select('rootRunId'))
    .where('a.reason', '=', 'input_required')
    .select(['a.id', 'a.runId', 'a.prompt', 'a.responseSchema', 'a.status', 'a.expiresAt', 'a.approverFloor', 'a.critical'])
    // Counts all questions of the run and its descendants, from 1 on; also the number of its notice.
    .select(sql<number>`row_number() over (order by a.id)::int`.as('number'));
  return query
    .selectFrom(questions.as('q'))
    .innerJoin('runs as d', 'd.id', 'q.runId')
    .where('q.status', '=', 'pending')
    .where('q.expiresAt', '>', sql<string>`clock_timestamp()`)
    .where('q.approverFloor', '=', 'member')
    .where('q.critical', '=', sql.lit(false))
    .where(({ eb, or }) => or([eb('q.runId', '=', runId), sql<boolean>`d.lineage @> array[${runId}::uuid]`]))
    .select(['q.id', 'q.number', 'q.prompt', 'q.responseSchema'])
    .orderBy('q.number')
    .limit(1);
});

/** Returns the first unanswered question of a run, or of a run below it, that a member may answer, or null when there is none. */
export function readOpenQuestion(tx: Pick<TenantTransaction, 'em'>, runId: string) {
  return row(tx.em, openQuestion({ runId }));
}

interface RunOfChannel {
  readonly runId: string;
  readonly channelId: string;
}

const waitingRun = prepared(({ runId, channelId }: ParametersOf<RunOfChannel>) =>
  query
    .selectFrom('runs as r')
    .where('r.id', '=', runId)
    .where('r.triggerId', '=', channelId)
    .where('r.status', '=', 'waiting')
    .where('r.waitingOn', '=', 'input')
    .where('r.deletedAt', 'is', null)
    .select([
      'r.id',
      ({ selectFrom }) => {
        const notices = selectFrom('channel_outbound as o')
          .whereRef('o.runId', '=', 'r.id')
          .where('o.kind', '=', 'notice')
          .where('o.state', 'in', ['sending', 'sent', 'unknown'])
          .select('o.part');
        return sql<number[]>`array${notices}`.as('asked');
      },
    ]),
);

/**
 * Returns the run that waits in a conversation for an answer from its thread, or null when none does. `asked`: numbers of the questions that have been sent to
 * the thread, or may have been.
 */
export function findWaitingRun(tx: Pick<TenantTransaction, 'em'>, { runId, channelId }: RunOfChannel) {
  return row(tx.em, waitingRun({ runId, channelId }));
}

interface AskedPerson {
  readonly subjectId: string;
  readonly sessionKey: string;
}

const askedRun = prepared(({ channelId, subjectId, sessionKey }: ParametersOf<AskedPerson & { readonly channelId: string }>) =>
  query
    .selectFrom('runs')
    .where('triggerId', '=', channelId)
    .where('status', '=', sql.lit('waiting'))
    .where('waitingOn', '=', 'input')
    .where('subjectKind', '=', 'guest')
    .where('subjectId', '=', subjectId)
    .where('sessionKey', '=', sessionKey)
    .where('deletedAt', 'is', null)
    .select('id')
    .limit(1),
);

/** Whether a run of a channel waits for an answer from a given person in a conversation. */
export async function isAsked(
  tx: Pick<TenantTransaction, 'em'>,
  channelId: string,
  { subjectId, sessionKey }: AskedPerson,
): Promise<boolean> {
  return (await row(tx.em, askedRun({ channelId, subjectId, sessionKey }))) !== null;
}
