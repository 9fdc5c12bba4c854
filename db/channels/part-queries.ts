import { sql, type Expression } from 'kysely';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import type { RunOutput } from '../runs/run-frames.ts';
import { row, rows } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

/** A part with what its delivery needs. */
export type PartRow = Awaited<ReturnType<typeof readParts>>[number];

/** The states of parts that have still to be sent; in the text, so that the partial index of open parts serves. */
export const openStates = [sql.lit('pending' as const), sql.lit('sending' as const)];

/** Milliseconds until a part may be tried; 0: now. */
const waitMs = sql<number>`greatest(0, ceil(extract(epoch from o.next_attempt_at - clock_timestamp()) * 1000))::int`;

/** A query of the parts of an answer. */
export function selectParts(messageId: Expression<string>) {
  return query
    .selectFrom('channel_outbound as o')
    .where('o.messageId', '=', messageId)
    .select(['o.id', 'o.kind', 'o.part', 'o.text', 'o.rendered', 'o.state', 'o.isPlain', 'o.externalId', 'o.attempts', 'o.failures'])
    .select(['o.createdAt', waitMs.as('waitMs')]);
}

const partsOfAnswer = prepared(({ messageId }: ParametersOf<{ readonly messageId: string }>) =>
  selectParts(messageId).orderBy('o.createdAt').orderBy('o.kind').orderBy('o.part'),
);

/** Returns the parts of an answer, in sending order. */
export function readParts(tx: Pick<TenantTransaction, 'em'>, messageId: string) {
  return rows(tx.em, partsOfAnswer({ messageId }));
}

/** A run as its thread is informed of it. */
export type ReportedRun = NonNullable<Awaited<ReturnType<typeof readReportedRun>>>;

const reportedRun = prepared(({ runId }: ParametersOf<{ readonly runId: string }>) =>
  query
    .selectFrom('runs')
    .where('id', '=', runId)
    .where('deletedAt', 'is', null)
    .select(['id', 'status', 'waitingOn', 'hops'])
    .select(({ ref }) => [
      ref('output').$castTo<Partial<RunOutput> | null>().as('output'),
      sql<string | null>`${ref('error')} ->> 'code'`.as('errorCode'),
      // Seconds since 1970.
      sql<number | null>`floor(extract(epoch from ${ref('waitingSince')}))::int`.as('waitingSinceS'),
    ]),
);

/** Returns null when the run is deleted. */
export function readReportedRun(tx: Pick<TenantTransaction, 'em'>, runId: string) {
  return row(tx.em, reportedRun({ runId }));
}

const answerFiles = prepared(({ ids }: ParametersOf<{ readonly ids: readonly string[] }>) =>
  query
    .selectFrom('attachments')
    .where(sql<boolean>`id = any (${ids}::uuid[])`)
    .select(['id', 'storageKey', 'state']),
);

/** Returns the stored files that an answer names; deleted ones are omitted. */
export function readAnswerFiles(tx: Pick<TenantTransaction, 'em'>, ids: readonly string[]) {
  return rows(tx.em, answerFiles({ ids }));
}
