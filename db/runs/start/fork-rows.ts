import { sql } from 'kysely';
import { anyId, literal, now } from '../../expressions.ts';
import { newId } from '../../ids.ts';
import { insertFrom } from '../../insert-from.ts';
import { jsonText, recordset, type JsonText } from '../../json-text.ts';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { change, row, rows } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { ContentBlock } from '../run-types.ts';
import type { EndedRun } from './retry-rows.ts';

/** Maximum number of messages that a fork copies; of a longer history it copies the newest whole turns. */
export const maxCopied = 2_000;

const committed = literal('committed');

/** A message from which a conversation is forked. */
export interface ForkPoint {
  readonly role: 'user' | 'assistant' | 'tool' | 'system';
  readonly content: readonly ContentBlock[];
  /** The messages before it, and the message itself unless it is a user's: oldest first, with turns renumbered from 1. */
  readonly copied: readonly { readonly id: string; readonly turn: number }[];
  /** How many turns `copied` has. */
  readonly turns: number;
}

/** The run whose conversation is forked. */
export type ForkedRun = Pick<
  EndedRun,
  'organizationId' | 'workspaceId' | 'agentId' | 'conversationId' | 'turnNo' | 'subjectKind' | 'subjectId' | 'personaSlug'
>;

interface ForkRun {
  readonly id: string;
  readonly conversationId: string;
  readonly organizationId: string;
  readonly workspaceId: string;
}

interface Copy {
  readonly id: string;
  readonly source: string;
  readonly turn: number;
  readonly pos: number;
}

const copy = prepared((p: ParametersOf<ForkRun & { readonly drafts: JsonText<readonly Copy[]> }>) => {
  const drafts = recordset(p.drafts, 'd', { id: 'uuid', source: 'uuid', turn: 'int', pos: 'int' });
  return insertFrom('messages', query.selectFrom(drafts).innerJoin('messages as m', 'm.id', 'd.source'), ({ ref }) => ({
    id: ref('d.id'),
    organizationId: p.organizationId,
    workspaceId: p.workspaceId,
    conversationId: p.conversationId,
    runId: p.id,
    turn: ref('d.turn'),
    pos: ref('d.pos'),
    step: literal(null),
    role: ref('m.role'),
    origin: ref('m.origin'),
    content: ref('m.content'),
    toolCallIds: ref('m.toolCallIds'),
    toolCallId: ref('m.toolCallId'),
    model: ref('m.model'),
    stopReason: ref('m.stopReason'),
    state: committed,
    providerState: literal(null),
    attempt: literal(1),
    createdAt: ref('m.createdAt'),
  }));
});

/**
 * Copies messages into the first run of a fork, before its own, with the files that they name. The copies still name the calls of the original, whose rows
 * serve both. They have no step, since no step of this run produced them.
 */
export async function copyMessages(tx: TenantTransaction, run: ForkRun, copied: ForkPoint['copied']): Promise<void> {
  if (copied.length === 0) return;
  const drafts = copied.map(({ id, turn }, pos) => ({ id: newId(), source: id, turn, pos }));
  await change(tx.em, copy({ ...run, drafts: jsonText(drafts) }));
  await holdFiles(tx, run);
}

const namedFiles = prepared(({ runId }: ParametersOf<{ readonly runId: string }>) =>
  query
    .selectFrom('messages as m')
    .crossJoinLateral(sql<{ block: unknown }>`jsonb_array_elements(m.content)`.as<'b'>(sql`b (block)`))
    .innerJoin('attachments as a', (join) => join.on('a.id', '=', sql<string>`(b.block ->> 'attachment_id')::uuid`))
    .where('m.runId', '=', runId)
    .where('m.state', '=', committed)
    .where(sql`b.block ->> 'type'`, '=', literal('attachment'))
    .select('a.id')
    .distinct(),
);

interface HeldFiles extends ForkRun {
  readonly attachmentIds: readonly string[];
  readonly links: JsonText<readonly { id: string; attachment: string }[]>;
}

const hold = prepared((p: ParametersOf<HeldFiles>) =>
  query
    .with('held', (of) => of.updateTable('attachments').set({ expiresAt: null }).where('id', '=', anyId(p.attachmentIds)).returning('id'))
    .insertInto('attachment_links')
    .columns(['id', 'attachmentId', 'organizationId', 'workspaceId', 'ownerKind', 'ownerId', 'conversationId', 'createdAt'])
    .expression(({ selectFrom }) =>
      selectFrom(recordset(p.links, 'l', { id: 'uuid', attachment: 'uuid' }))
        .innerJoin('held', 'held.id', 'l.attachment')
        .select(['l.id', 'held.id as attachmentId', sql`${p.organizationId}::uuid`.as('organizationId')])
        .select([sql`${p.workspaceId}::uuid`.as('workspaceId'), literal('run').as('ownerKind'), sql`${p.id}::uuid`.as('ownerId')])
        .select([sql`${p.conversationId}::uuid`.as('conversationId'), now.as('createdAt')]),
    )
    .onConflict((conflict) => conflict.doNothing()),
);

/** A file stays stored and visible as long as some run that names it does. */
async function holdFiles(tx: TenantTransaction, run: ForkRun): Promise<void> {
  const named = await rows(tx.em, namedFiles({ runId: run.id }));
  if (named.length === 0) return;
  const attachmentIds = named.map(({ id }) => id);
  const links = attachmentIds.map((attachment) => ({ id: newId(), attachment }));
  await change(tx.em, hold({ ...run, attachmentIds, links: jsonText(links) }));
}

interface MessageAsk {
  readonly messageId: string;
  readonly conversationId: string;
  readonly maxTurn: number;
}

const committedMessage = prepared(({ messageId, conversationId, maxTurn }: ParametersOf<MessageAsk>) =>
  query
    .selectFrom('messages as m')
    .select(['m.role', 'm.content', 'm.turn', 'm.pos'])
    .where('m.id', '=', messageId)
    .where('m.conversationId', '=', conversationId)
    .where('m.state', '=', committed)
    .where('m.turn', '<=', maxTurn),
);

/** Returns a committed message of the run's conversation that is not after the run's turn, or null. */
export function readMessage(tx: TenantTransaction, run: Pick<ForkedRun, 'conversationId' | 'turnNo'>, messageId: string) {
  return row(tx.em, committedMessage({ messageId, conversationId: run.conversationId, maxTurn: run.turnNo ?? 0 }));
}

interface BeforeAsk {
  readonly conversationId: string;
  readonly turn: number;
  readonly pos: number;
  readonly isIncluded: true | undefined;
}

const messagesBefore = prepared(({ conversationId, turn, pos, isIncluded }: ParametersOf<BeforeAsk>) =>
  query
    .selectFrom('messages as m')
    .select(['m.id', 'm.turn'])
    .where('m.conversationId', '=', conversationId)
    .where('m.state', '=', committed)
    .where(({ eb, refTuple, tuple }) => eb(refTuple('m.turn', 'm.pos'), isIncluded ? '<=' : '<', tuple(turn, pos)))
    .orderBy('m.turn', 'desc')
    .orderBy('m.pos', 'desc')
    .limit(literal(maxCopied + 1)),
);

/** Returns what was committed in a conversation before a message, newest first: one more than a fork copies. `isIncluded`: includes the message itself. */
export function readBefore(
  tx: TenantTransaction,
  conversationId: string,
  { turn, pos, isIncluded }: { readonly turn: number; readonly pos: number; readonly isIncluded: boolean },
) {
  return rows(tx.em, messagesBefore({ conversationId, turn, pos, isIncluded: isIncluded || undefined }));
}

interface Forked extends Omit<ForkedRun, 'conversationId' | 'turnNo'> {
  readonly id: string;
  readonly sessionKey: string | null;
  readonly turnNo: number;
}

const insertConversation = prepared((values: ParametersOf<Forked>) =>
  query
    .insertInto('conversations')
    .values({ ...values, activeRunId: literal(null), queueLength: 0, nextQueueNo: 1 })
    .onConflict((conflict) => conflict.doNothing())
    .returning('id'),
);

/** Writes the conversation of a fork. Returns false when the session key already has a conversation. */
export async function insertForked(
  tx: TenantTransaction,
  run: ForkedRun,
  { id, sessionKey, turns }: { readonly id: string; readonly sessionKey: string | null; readonly turns: number },
): Promise<boolean> {
  const { organizationId, workspaceId, agentId, subjectKind, subjectId, personaSlug } = run;
  const place = { organizationId, workspaceId, agentId, subjectKind, subjectId };
  const made = await row(tx.em, insertConversation({ ...place, id, sessionKey, personaSlug, turnNo: turns }));
  return made !== null;
}
