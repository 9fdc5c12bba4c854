import { type Expression, sql } from 'kysely';
import { clockTime } from '../expressions.ts';
import { newId } from '../ids.ts';
import { insertFrom } from '../insert-from.ts';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { change, iso, row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { AnsweredMessage } from './answered.ts';
import type { DraftRow } from './draft-queries.ts';

interface NewDraft extends Pick<AnsweredMessage, 'organizationId' | 'workspaceId' | 'channelId' | 'threadId' | 'runId'> {
  readonly id: string;
  readonly messageId: string;
}

const claiming = prepared(({ id, organizationId, workspaceId, channelId, messageId, threadId, runId }: ParametersOf<NewDraft>) =>
  insertFrom('channel_outbound', query.selectFrom('runs as r').where('r.id', '=', runId).where('r.status', '=', 'running'), ({ ref }) => ({
    id: asUuid(id),
    organizationId: asUuid(organizationId),
    workspaceId: asUuid(workspaceId),
    channelId: asUuid(channelId),
    messageId: asUuid(messageId),
    runId: ref('r.id'),
    threadId: sql<string>`${threadId}::text`,
    kind: sql.lit('reply'),
    part: sql.lit(0),
    state: sql.lit('sending'),
    createdAt: clockTime,
    updatedAt: clockTime,
  }))
    .onConflict((conflict) => conflict.columns(['messageId', 'kind', 'part']).doNothing())
    .returning(['id', 'createdAt']),
);

// A parameter of a select has no type of its own.
function asUuid(id: Expression<string>) {
  return sql<string>`${id}::uuid`;
}

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
  query.updateTable('channel_outbound').set({ state, externalId, updatedAt: clockTime }).where('id', '=', id).where('text', 'is', null),
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
