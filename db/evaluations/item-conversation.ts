import type { ItemMessage } from '../../workflows/contracts/evaluations.ts';
import { newId } from '../ids.ts';
import { query } from '../query.ts';
import { change, rows } from '../sql.ts';
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
  const drafts = messages.map(({ role, content }, pos) => ({
    id: newId(),
    turn: turns[pos],
    pos,
    role,
    origin: role === 'user' ? 'user' : 'model',
    content: [{ type: 'text', text: content }],
  }));
  await rows(
    tx.em,
    `insert into messages (id, organization_id, workspace_id, conversation_id, run_id, turn, pos, role, origin, content, state, attempt, created_at)
     select d.id, ?, ?, ?, ?, d.turn, d.pos, d.role, d.origin, d.content, 'committed', 1, now()
       from jsonb_to_recordset(?::jsonb) as d(id uuid, turn int, pos int, role text, origin text, content jsonb)`,
    [organizationId, workspaceId, conversationId, runId, JSON.stringify(drafts)],
  );
}

/** Returns the turn of each message, counted from 1. */
function turnsOf(messages: readonly ItemMessage[]): number[] {
  let turn = 1;
  return messages.map(({ role }, at) => {
    if (role === 'user' && at > 0) turn += 1;
    return turn;
  });
}
