import { type NotNull, sql } from 'kysely';
import { isTerminal } from '../../../workflows/contracts/runs/runs.ts';
import { unlinkedHours } from '../../attachments/attachments.ts';
import { anyId, now } from '../../expressions.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { change, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

const treeOf = prepared(({ runId }: ParametersOf<{ readonly runId: string }>) =>
  query
    .selectFrom('runs as r')
    .select(['r.id', 'r.status', 'r.parentRunId'])
    .where(({ eb, or }) => or([eb('r.id', '=', runId), eb('r.rootRunId', '=', runId)]))
    .where('r.deletedAt', 'is', null)
    .orderBy('r.id')
    .forNoKeyUpdate(),
);

/** Locks the run and, for a root, all runs below it, by ascending id. */
export function lockTree(tx: TenantTransaction, runId: string) {
  return rows(tx.em, treeOf({ runId }));
}

const treesOf = prepared(({ rootIds }: ParametersOf<{ readonly rootIds: readonly string[] }>) =>
  query
    .selectFrom('runs as r')
    .select(['r.id', 'r.rootRunId', 'r.status'])
    .where('r.rootRunId', '=', anyId(rootIds))
    .where('r.deletedAt', 'is', null)
    .orderBy('r.id')
    .forNoKeyUpdate(),
);

/**
 * Locks the trees of several roots, all at once and by ascending id, so that a transaction that changes many runs holds no budget window while it waits for
 * a run. Returns the ids of all runs in trees without a live run.
 */
export async function lockEndedTrees(tx: TenantTransaction, rootIds: readonly string[]): Promise<string[]> {
  const locked = await rows(tx.em, treesOf({ rootIds }));
  const living = new Set(locked.filter(({ status }) => !isTerminal(status)).map(({ rootRunId }) => rootRunId));
  return locked.filter(({ rootRunId }) => !living.has(rootRunId)).map(({ id }) => id);
}

const ofErased = sql<string>`(select run_id from erased)`;

// Chunks and scopes are deleted with their stream. Keys between these tables are checked at the end of the statement.
const erased = prepared(({ runIds, hours }: ParametersOf<{ readonly runIds: readonly string[]; readonly hours: number }>) =>
  query
    .with('erased', (of) => of.selectNoFrom(sql<string>`unnest(${runIds}::uuid[])`.as('runId')))
    .with('approvalsGone', (of) => of.deleteFrom('approvals').where('runId', 'in', ofErased))
    .with('inputsGone', (of) => of.deleteFrom('run_inputs').where('runId', 'in', ofErased))
    .with('outputsGone', (of) => of.deleteFrom('tool_outputs').where('runId', 'in', ofErased))
    .with('callsGone', (of) => of.deleteFrom('tool_calls').where('runId', 'in', ofErased))
    .with('stepsGone', (of) => of.deleteFrom('run_steps').where('runId', 'in', ofErased))
    .with('messagesGone', (of) => of.deleteFrom('messages').where('runId', 'in', ofErased))
    .with('tokensGone', (of) => of.deleteFrom('stream_tokens').where('runId', 'in', ofErased))
    .with('streamsGone', (of) => of.deleteFrom('run_streams').where('runId', 'in', ofErased))
    .with('unlinked', (of) =>
      of
        .deleteFrom('attachment_links')
        .where('ownerKind', '=', sql.lit('run'))
        .where('ownerId', 'in', ofErased)
        .returning(['id', 'attachmentId']),
    )
    // Files that tools made are content of the run; files that people uploaded belong to them and stay for a day.
    .with('loose', (of) =>
      of
        .updateTable('attachments')
        .set(({ ref }) => ({
          expiresAt: sql<string>`case when ${ref('createdBy')} ->> 'kind' = 'agent' then now() else now() + make_interval(hours => ${hours}::int) end`,
        }))
        .where('attachments.id', 'in', ({ selectFrom }) => selectFrom('unlinked').select('unlinked.attachmentId'))
        .where(({ exists, not, selectFrom }) =>
          not(
            exists(
              selectFrom('attachment_links as l')
                .select('l.id')
                .whereRef('l.attachmentId', '=', 'attachments.id')
                .where('l.id', 'not in', selectFrom('unlinked').select('unlinked.id')),
            ),
          ),
        ),
    )
    .with('repliesGone', (of) => of.deleteFrom('channel_outbound').where('runId', 'in', ofErased))
    .with('said', (of) =>
      of
        .updateTable('channel_messages')
        .set({ text: '', senderName: null, attachments: [], tokenEnc: null })
        .where('runId', 'in', ofErased),
    )
    // The times of a vote, a command, a finding and a callback stay: they are not those of an erasure.
    .with('votes', (of) =>
      of
        .updateTable('feedback')
        .set(({ ref }) => ({ comment: null, correction: null, tags: [], updatedAt: ref('updatedAt') }))
        .where('runId', 'in', ofErased),
    )
    .with('results', (of) =>
      of
        .updateTable('evaluation_results')
        .set({ reason: null, votes: {} })
        .where('runId', 'in', ofErased)
        .returning(['id', 'evaluationRunId']),
    )
    .with('scores', (of) =>
      of
        .updateTable('evaluation_scores')
        .set({ reason: null, details: {} })
        .where('resultId', 'in', ({ selectFrom }) => selectFrom('results').select('results.id')),
    )
    .with('answersGone', (of) => of.deleteFrom('review_answers').where('runId', 'in', ofErased))
    .with('commandsEmptied', (of) =>
      of
        .updateTable('review_commands')
        .set(({ ref }) => ({ argument: null, reply: null, reason: null, updatedAt: ref('updatedAt') }))
        .where('runId', 'in', ofErased),
    )
    // A finding keeps its fingerprint, so that it is never reported twice.
    .with('findingsEmptied', (of) =>
      of
        .updateTable('review_findings')
        .set(({ ref }) => ({ title: '', scenario: '', evidence: '', suggestion: null, updatedAt: ref('updatedAt') }))
        .where('firstRunId', 'in', ofErased),
    )
    // The file with all results of an evaluation includes those of the run, so it is deleted.
    .with('exports', (of) =>
      of
        .deleteFrom('attachment_links')
        .where('ownerKind', '=', sql.lit('evaluation'))
        .where('ownerId', 'in', ({ selectFrom }) => selectFrom('results').select('results.evaluationRunId'))
        .returning('attachmentId'),
    )
    .with('exportsLoose', (of) =>
      of
        .updateTable('attachments')
        .set({ expiresAt: now })
        .where('id', 'in', ({ selectFrom }) => selectFrom('exports').select('exports.attachmentId')),
    )
    // A conversation with no run left loses its session key, subject and persona.
    .with('nameless', (of) =>
      of
        .updateTable('conversations')
        .set({ sessionKey: null, subjectKind: null, subjectId: null, personaSlug: null })
        .where('conversations.id', 'in', ({ selectFrom }) =>
          selectFrom('runs as r').select('r.conversationId').where('r.id', 'in', ofErased),
        )
        .where(({ exists, not, selectFrom }) =>
          not(
            exists(
              selectFrom('runs as o')
                .select('o.id')
                .whereRef('o.conversationId', '=', 'conversations.id')
                .where('o.deletedAt', 'is', null)
                .where('o.id', 'not in', ofErased),
            ),
          ),
        ),
    )
    .with('occurrences', (of) => of.updateTable('schedule_occurrences').set({ rendered: null }).where('runId', 'in', ofErased))
    .with('deliveries', (of) =>
      of
        .updateTable('webhook_deliveries')
        .set({ body: null, headers: {}, query: {}, warnings: [], deliveryKey: null })
        .where('runId', 'in', ofErased),
    )
    .with('eventsEmptied', (of) =>
      of
        .updateTable('events')
        .set({ payload: {}, subject: null, dedupeKey: null })
        .where('id', 'in', ({ selectFrom }) =>
          selectFrom('events as e')
            .select('e.id')
            .where('e.causeRunId', 'in', ofErased)
            .unionAll(
              selectFrom('webhook_deliveries as d')
                .select('d.eventId as id')
                .where('d.runId', 'in', ofErased)
                .where('d.eventId', 'is not', null)
                .$narrowType<{ id: NotNull }>(),
            )
            .unionAll(selectFrom('event_matches as m').select('m.eventId as id').where('m.runId', 'in', ofErased)),
        ),
    )
    .with('callbacks', (of) =>
      of
        .updateTable('outbound_callbacks')
        .set((eb) => ({
          status: eb.case('status').when(sql.lit('pending')).then(sql.lit<'stopped'>('stopped')).else(eb.ref('status')).end(),
          nextAttemptAt: null,
          updatedAt: eb.ref('updatedAt'),
        }))
        .where('runId', 'in', ofErased),
    )
    .updateTable('runs')
    .set({
      input: {},
      output: null,
      error: null,
      warnings: [],
      metadata: {},
      manifest: null,
      sessionKey: null,
      subjectKind: null,
      subjectId: null,
      pendingApprovals: 0,
      deletedAt: now,
      updatedAt: now,
    })
    .where('id', 'in', ofErased),
);

/** Erases the content of these runs and of the rows that belong to them; `erased` lists it. The runs' own rows stay. */
export async function eraseRuns(tx: TenantTransaction, runIds: readonly string[]): Promise<void> {
  await change(tx.em, erased({ runIds, hours: unlinkedHours }));
}
