import { sql } from 'kysely';
import { newId } from '../ids.ts';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { change, iso, row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { AnsweredMessage } from './answered.ts';
import type { DraftRow } from './draft-queries.ts';

const now = sql<string>`clock_timestamp()`;

interface NewDraft extends Pick<AnsweredMessage, 'organizationId' | 'workspaceId' | 'channelId' | 'threadId' | 'runId'> {
  readonly id: string;
  readonly messageId: string;
}

const claiming = prepared((draft: ParametersOf<NewDraft>) =>
  query
    .insertInto('channel_outbound')
    .columns([
      'id',
      'organizationId',
      'workspaceId',
      'channelId',
      'messageId',
      'runId',
      'threadId',
      'kind',
      'part',
      'state',
      'createdAt',
      'updatedAt',
    ])
    .expression(
      query
        .selectFrom('runs as r')
        .where('r.id', '=', draft.runId)
        .where('r.status', '=', 'running')
        .select([
          sql<string>`${draft.id}::uuid`.as('id'),
          sql<string>`${draft.organizationId}::uuid`.as('organizationId'),
          sql<string>`${draft.workspaceId}::uuid`.as('workspaceId'),
          sql<string>`${draft.channelId}::uuid`.as('channelId'),
          sql<string>`${draft.messageId}::uuid`.as('messageId'),
          'r.id as runId',
          sql<string>`${draft.threadId}::text`.as('threadId'),
          sql.lit('reply').as('kind'),
          sql.lit(0).as('part'),
          sql.lit('sending').as('state'),
          now.as('createdAt'),
          now.as('updatedAt'),
        ]),
    )
    .onConflict((conflict) => conflict.columns(['messageId', 'kind', 'part']).doNothing())
    .returning(['id', 'createdAt']),
);

/** Creates the row of a draft before it is sent. Returns null when the row exists already, or the run is not running. */
export async function claimDraft(
  tx: TenantTransaction,
  { id, organizationId, workspaceId, channelId, threadId, runId }: AnsweredMessage,
): Promise<DraftRow | null> {
  const made = await row(tx.em, claiming({ id: newId(), organizationId, workspaceId, channelId, messageId: id, threadId, runId }));
  return made && { id: made.id, externalId: null, createdAt: new Date(iso(made.createdAt)) };
}

const leaving = prepared(({ messageId }: ParametersOf<{ readonly messageId: string }>) =>
  query
    .deleteFrom('channel_outbound as o')
    .using('runs as r')
    .where('o.messageId', '=', messageId)
    .where('o.kind', '=', 'reply')
    .where('o.part', '=', 0)
    .where('o.text', 'is', null)
    .where('o.state', '=', 'sent')
    .whereRef('r.id', '=', 'o.runId')
    .where('r.status', '=', 'waiting'),
);

/** Leaves the draft of an answer as it is in its thread: what comes next is a separate message. A draft whose outcome is unknown stays open. */
export async function leaveDraft(tx: TenantTransaction, messageId: string): Promise<void> {
  await change(tx.em, leaving({ messageId }));
}

const leftToAnswer = prepared(({ id }: ParametersOf<{ readonly id: string }>) =>
  query
    .updateTable('channel_outbound')
    .from('runs as r')
    .set(({ ref }) => ({ state: 'pending' as const, updatedAt: ref('channel_outbound.updatedAt') }))
    .where('channel_outbound.id', '=', id)
    .where('channel_outbound.text', 'is', null)
    .whereRef('r.id', '=', 'channel_outbound.runId')
    .where('r.status', '<>', 'running'),
);

const unclaiming = prepared(({ id }: ParametersOf<{ readonly id: string }>) =>
  query
    .deleteFrom('channel_outbound as o')
    .using('runs as r')
    .where('o.id', '=', id)
    .where('o.text', 'is', null)
    .whereRef('r.id', '=', 'o.runId')
    .where('r.status', '=', 'running')
    .where('o.state', '=', 'sending'),
);

interface DraftOutcome {
  readonly state: 'sent' | 'sending';
  readonly externalId: string | null;
}

const storing = prepared(({ id, state, externalId }: ParametersOf<DraftOutcome & { readonly id: string }>) =>
  query.updateTable('channel_outbound').set({ state, externalId, updatedAt: now }).where('id', '=', id).where('text', 'is', null),
);

/** Stores the outcome of a draft; the row of one that was certainly not sent is deleted, unless the run has ended meanwhile. */
export async function storeDraft(
  tx: TenantTransaction,
  { id }: DraftRow,
  { state, externalId }: { readonly state: 'sent' | 'sending' | 'none'; readonly externalId: string | null },
): Promise<void> {
  if (state === 'none') {
    await change(tx.em, leftToAnswer({ id }));
    await change(tx.em, unclaiming({ id }));
    return;
  }
  await change(tx.em, storing({ id, state, externalId }));
}
