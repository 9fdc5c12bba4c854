import { sql } from 'kysely';
import { clockTime } from '../expressions.ts';
import type { ChannelPartInput } from '../../workflows/contracts/triggers/channels.ts';
import { newId } from '../ids.ts';
import { insertFrom } from '../insert-from.ts';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { recordset } from '../recordset.ts';
import type { Run } from '../runs/run.entity.ts';
import { change, row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { ChannelOutbound } from './channel-outbound.entity.ts';
import type { AnsweredMessage } from './answered.ts';
import { notedOnChannel } from './sync.ts';
import { openStates, selectParts } from './part-queries.ts';

/** A part to be stored. */
export interface PartText {
  readonly text: string;
  readonly rendered: string;
  /** It is sent as plain text. */
  readonly isPlain: boolean;
  /** For a file its number; for a text its position among the texts. */
  readonly part?: number;
}

export interface ReplyParts {
  readonly parts: readonly PartText[];
  /** A draft of which it is unknown whether it was sent is taken as not sent: its service can't be asked, and the answer must not be lost with it. */
  readonly forgetsLostDraft: boolean;
}

const lockedPart = prepared(({ messageId, kind, part }: ParametersOf<ChannelPartInput>) =>
  selectParts(messageId).where('o.kind', '=', kind).where('o.part', '=', part).forNoKeyUpdate(),
);

/** Returns one part, locked, or null when there is none. */
export function lockPart(tx: TenantTransaction, { messageId, kind, part }: ChannelPartInput) {
  return row(tx.em, lockedPart({ messageId, kind, part }));
}

const earlierAnswer = prepared(({ partId }: ParametersOf<{ readonly partId: string }>) =>
  query
    .selectFrom('channel_outbound as o')
    .innerJoin('channel_outbound as e', (join) => join.onRef('e.channelId', '=', 'o.channelId').onRef('e.threadId', '=', 'o.threadId'))
    .where('o.id', '=', partId)
    .where('e.state', 'in', openStates)
    .whereRef('e.messageId', '<>', 'o.messageId')
    .where(({ eb, or }) => or([eb('e.state', '=', 'pending'), eb('e.text', 'is not', null)]))
    .where(({ eb, refTuple }) => eb(refTuple('e.createdAt', 'e.messageId'), '<', refTuple('o.createdAt', 'o.messageId')))
    .select('e.id')
    .limit(1),
);

/** Whether an earlier answer of the thread has not been sent yet. */
export async function isBehindAnother(tx: TenantTransaction, partId: string): Promise<boolean> {
  return (await row(tx.em, earlierAnswer({ partId }))) !== null;
}

const reservedRow = prepared(({ messageId }: ParametersOf<{ readonly messageId: string }>) =>
  query
    .selectFrom('channel_outbound')
    .where('messageId', '=', messageId)
    .where('kind', '=', 'reply')
    .where('part', '=', 0)
    .where('text', 'is', null)
    .select('id')
    .forUpdate(),
);

interface FirstText extends Pick<PartText, 'text' | 'rendered' | 'isPlain'> {
  readonly id: string;
  readonly forgetsLostDraft: boolean;
}

const writingFirst = prepared(({ id, forgetsLostDraft, ...first }: ParametersOf<FirstText>) =>
  query
    .updateTable('channel_outbound')
    .set(({ ref }) => ({
      ...first,
      // A draft is, or may be, in the thread already: what is known of it stays.
      state: sql<
        ChannelOutbound['state']
      >`case when ${ref('state')} = 'sent' or ${forgetsLostDraft}::boolean then 'pending' else ${ref('state')} end`,
      updatedAt: clockTime,
    }))
    .where('id', '=', id),
);

/** A further part in JSON. */
interface FurtherPart {
  readonly id: string;
  readonly part: number;
  readonly text: string;
  readonly rendered: string;
  readonly isPlain: boolean;
}

const writingOthers = prepared(({ placeId, others }: ParametersOf<{ readonly placeId: string; readonly others: string }>) =>
  insertFrom(
    'channel_outbound',
    query
      .selectFrom(recordset<FurtherPart>(others, { id: 'uuid', part: 'int', text: 'text', rendered: 'text', isPlain: 'boolean' }).as('p'))
      .crossJoin('channel_outbound as o')
      .where('o.id', '=', placeId),
    ({ ref }) => ({
      id: ref('p.id'),
      organizationId: ref('o.organizationId'),
      workspaceId: ref('o.workspaceId'),
      channelId: ref('o.channelId'),
      messageId: ref('o.messageId'),
      runId: ref('o.runId'),
      threadId: ref('o.threadId'),
      kind: sql.lit('reply'),
      part: ref('p.part'),
      text: ref('p.text'),
      rendered: ref('p.rendered'),
      isPlain: ref('p.isPlain'),
      createdAt: ref('o.createdAt'),
      updatedAt: clockTime,
    }),
  ).onConflict((conflict) => conflict.columns(['messageId', 'kind', 'part']).doNothing()),
);

/**
 * Replaces the reserved row of an answer by its parts, once; without parts, deletes the row. The parts take the row's time, so that no other answer comes
 * between them. Returns false when it had its parts before.
 */
export async function writeReplyParts(tx: TenantTransaction, messageId: string, { parts, forgetsLostDraft }: ReplyParts): Promise<boolean> {
  const [first, ...others] = parts;
  const place = await row(tx.em, reservedRow({ messageId }));
  if (!place) return false;
  if (first === undefined) {
    await change(tx.em, query.deleteFrom('channel_outbound').where('id', '=', place.id));
    return true;
  }
  await change(tx.em, writingFirst({ id: place.id, text: first.text, rendered: first.rendered, isPlain: first.isPlain, forgetsLostDraft }));
  const more = others.map(({ text, rendered, isPlain, part }, at) => ({
    id: newId(),
    part: part ?? at + 1,
    text,
    rendered,
    is_plain: isPlain,
  }));
  if (more.length === 0) return true;
  await change(tx.em, writingOthers({ placeId: place.id, others: JSON.stringify(more) }));
  return true;
}

interface NewNotice extends FurtherPart, Pick<AnsweredMessage, 'organizationId' | 'workspaceId' | 'channelId' | 'runId' | 'threadId'> {
  readonly messageId: string;
}

const writingNotice = prepared((notice: ParametersOf<NewNotice>) =>
  query
    .insertInto('channel_outbound')
    .values(({ fn, selectFrom }) => ({
      ...notice,
      kind: 'notice',
      externalId: null,
      lastError: null,
      nextAttemptAt: null,
      createdAt: fn.coalesce(
        selectFrom('channel_outbound as o')
          .where('o.messageId', '=', notice.messageId)
          .where('o.kind', '=', 'reply')
          .where('o.part', '=', 0)
          .select('o.createdAt'),
        clockTime,
      ),
      updatedAt: clockTime,
    }))
    .onConflict((conflict) => conflict.columns(['messageId', 'kind', 'part']).doNothing()),
);

/** Stores a notice, once per message and number. If the answer's row exists, the notice takes its time. */
export async function writeNotice(
  tx: TenantTransaction,
  message: AnsweredMessage,
  { part, text, rendered, isPlain }: PartText & { readonly part: number },
): Promise<void> {
  const { id: messageId, organizationId, workspaceId, channelId, runId, threadId } = message;
  const place = { organizationId, workspaceId, channelId, messageId, runId, threadId };
  await change(tx.em, writingNotice({ id: newId(), ...place, part, text, rendered, isPlain }));
}

const claiming = prepared(({ partId }: ParametersOf<{ readonly partId: string }>) =>
  query
    .updateTable('channel_outbound')
    .set(({ eb }) => ({ state: 'sending' as const, attempts: eb('attempts', '+', 1), nextAttemptAt: null, updatedAt: clockTime }))
    .where('id', '=', partId)
    .returning('attempts'),
);

/** Counts a try of a locked part before it is made; returns the number of tries. */
export async function claimPart(tx: TenantTransaction, partId: string): Promise<number> {
  const claimed = await row(tx.em, claiming({ partId }));
  return claimed?.attempts ?? 0;
}

/** The outcome of a try of a part. */
export interface StoredPart {
  readonly state: ChannelOutbound['state'];
  readonly isPlain: boolean;
  readonly externalId: string | null;
  readonly failures: number;
  readonly lastError: string | null;
  readonly delayMs: number | null;
}

/** Stores the outcome of the `attempts`-th try. Returns false when a later try has overtaken it and nothing was stored. */
export async function storePart(
  tx: TenantTransaction,
  { id, attempts }: { readonly id: string; readonly attempts: number },
  tried: StoredPart,
): Promise<boolean> {
  const { delayMs, lastError, ...stored } = tried;
  const changed = await change(
    tx.em,
    query
      .updateTable('channel_outbound')
      .set({
        ...stored,
        lastError: lastError?.slice(0, 300) ?? null,
        nextAttemptAt: delayMs === null ? null : sql<string>`clock_timestamp() + make_interval(secs => ${delayMs / 1_000}::float8)`,
        updatedAt: clockTime,
      })
      .where('id', '=', id)
      .where('attempts', '=', attempts)
      .where('state', '=', 'sending'),
  );
  return changed > 0;
}

/** Fails all parts that a channel has still to send. */
export async function failOpenParts(tx: TenantTransaction, channelId: string, reason: string): Promise<void> {
  await change(
    tx.em,
    query
      .updateTable('channel_outbound')
      .set({ state: 'failed', lastError: reason, nextAttemptAt: null, updatedAt: clockTime })
      .where('channelId', '=', channelId)
      .where('state', 'in', openStates),
  );
}

/** Stores whether a channel works; the version of the row stays, since no user has changed it. */
export async function storeChannelState(
  tx: TenantTransaction,
  channelId: string,
  { state, lastError }: { readonly state: 'ok' | 'error'; readonly lastError: string | null },
): Promise<void> {
  const stored = lastError?.slice(0, 300) ?? null;
  await change(
    tx.em,
    notedOnChannel
      .set({ state, lastError: stored })
      .where('id', '=', channelId)
      .where('deletedAt', 'is', null)
      .where(({ eb, or }) => or([eb('state', 'is distinct from', state), eb('lastError', 'is distinct from', stored)])),
  );
}

/** Adds a warning to a run that may have ended. */
export async function warnRun(tx: TenantTransaction, runId: string, message: string): Promise<void> {
  const added = JSON.stringify([{ code: 'upstream_failed', message }]);
  await change(
    tx.em,
    query
      .updateTable('runs')
      .set(({ ref }) => ({ warnings: sql<Run['warnings']>`${ref('warnings')} || ${added}::jsonb`, updatedAt: ref('updatedAt') }))
      .where('id', '=', runId)
      .where(sql<boolean>`jsonb_array_length(warnings) < 20`)
      .where('deletedAt', 'is', null),
  );
}
