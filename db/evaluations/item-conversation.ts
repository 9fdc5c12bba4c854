import { type Selectable, sql } from 'kysely';
import type { ItemMessage } from '../../workflows/contracts/evaluations.ts';
import { newId } from '../ids.ts';
import { query } from '../query.ts';
import { recordset, recordsetText } from '../recordset.ts';
import { change } from '../sql.ts';
import type { Tables } from '../table-types.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';

interface ConversationPlace {
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly agentId: string;
}

/** Creates a conversation that already has the turns of these messages; returns its id. Each user message begins a turn. */
export async function openItemConversation(
  tx: TenantTransaction,
  place: ConversationPlace,
  messages: readonly ItemMessage[],
): Promise<string> {
  const id = newId();
  await change(
    tx.em,
    query.insertInto('conversations').values({
      id,
      organizationId: place.organizationId,
      workspaceId: place.workspaceId,
      agentId: place.agentId,
      queueLength: 0,
      nextQueueNo: 1,
      turnNo: turnsOf(messages).at(-1) ?? 0,
    }),
  );
  return id;
}

/** Stores the messages of such a conversation as committed, before that of its first run. */
export async function writeItemMessages(
  tx: TenantTransaction,
  { organizationId, workspaceId }: Pick<ConversationPlace, 'organizationId' | 'workspaceId'>,
  {
    conversationId,
    runId,
    messages,
  }: { readonly conversationId: string; readonly runId: string; readonly messages: readonly ItemMessage[] },
): Promise<void> {
  const turns = turnsOf(messages);
  const drafts = messages.map(({ role, content }, pos): MessageDraft => ({
    id: newId(),
    turn: turns[pos] ?? 1,
    pos,
    role,
    origin: role === 'user' ? 'user' : 'model',
    content: [{ type: 'text', text: content }],
  }));
  const listed = recordset<MessageDraft>(recordsetText(drafts), {
    id: 'uuid',
    turn: 'int',
    pos: 'int',
    role: 'text',
    origin: 'text',
    content: 'jsonb',
  });
  await change(
    tx.em,
    query
      .insertInto('messages')
      .columns([
        'id',
        'organizationId',
        'workspaceId',
        'conversationId',
        'runId',
        'turn',
        'pos',
        'role',
        'origin',
        'content',
        'state',
        'attempt',
        'createdAt',
      ])
      .expression(
        query
          .selectFrom(listed.as('d'))
          .select(['d.id', sql<string>`${organizationId}::uuid`.as('organizationId'), sql<string>`${workspaceId}::uuid`.as('workspaceId')])
          .select([sql<string>`${conversationId}::uuid`.as('conversationId'), sql<string>`${runId}::uuid`.as('runId')])
          .select(['d.turn', 'd.pos', 'd.role', 'd.origin', 'd.content'])
          .select([sql.lit('committed').as('state'), sql.lit(1).as('attempt'), sql<string>`now()`.as('createdAt')]),
      ),
  );
}

type MessageDraft = Pick<Selectable<Tables['messages']>, 'id' | 'turn' | 'pos' | 'role' | 'origin' | 'content'>;

/** Returns the turn of each message, counted from 1. */
function turnsOf(messages: readonly ItemMessage[]): number[] {
  let turn = 1;
  return messages.map(({ role }, at) => {
    if (role === 'user' && at > 0) turn += 1;
    return turn;
  });
}
