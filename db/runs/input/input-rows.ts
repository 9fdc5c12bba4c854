import { row, rows } from '../../sql.ts';
import type { ContentBlock } from '../../streams/frame-parts.schema.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';
import type { RunState } from '../run-state.ts';
import type { RunInput } from '../read/run-view.ts';

/** The position before the input, which begins at 0. */
const place = -1;

/** Writes the system message before a run's input, at most once per run. Returns the stored message. */
export function storePassages(
  tx: TenantTransaction,
  run: RunState,
  { id, turn, content }: { readonly id: string; readonly turn: number; readonly content: ContentBlock[] },
): Promise<{ readonly id: string; readonly content: ContentBlock[] } | null> {
  return row<{ id: string; content: ContentBlock[] }>(
    tx.em,
    `with added as (
       insert into messages (id, organization_id, workspace_id, conversation_id, run_id, turn, pos, role, origin, content, state, attempt, created_at)
       values (?, ?, ?, ?, ?, ?, ?, 'system', 'system', ?::jsonb, 'pending', 1, now()) on conflict do nothing returning id, content
     )
     select id, content from added union all select m.id, m.content from messages m where m.run_id = ? and m.pos = ?`,
    [id, run.organization_id, run.workspace_id, run.conversation_id, run.id, turn, place, JSON.stringify(content), run.id, place],
  );
}

/** Replaces the whole input of a queued run. */
export async function writeWhole(
  tx: TenantTransaction,
  runId: string,
  { input, content }: { readonly input: RunInput; readonly content: readonly ContentBlock[] },
): Promise<void> {
  await rows(
    tx.em,
    `with asked as (
       update messages set content = ?::jsonb
        where id = (select m.id from messages m where m.run_id = ? and m.role = 'user' and m.state = 'pending' order by m.pos desc limit 1)
     )
     update runs set input = ?::jsonb, updated_at = now() where id = ? and status = 'queued'`,
    [JSON.stringify(content), runId, JSON.stringify(input), runId],
  );
}

/** Stores a message for the next model call of a run, or of a later run in its conversation. */
export async function insertInput(
  tx: TenantTransaction,
  run: RunState,
  { id, content }: { readonly id: string; readonly content: readonly ContentBlock[] },
): Promise<void> {
  await rows(
    tx.em,
    `insert into run_inputs (id, organization_id, workspace_id, run_id, conversation_id, content, created_at) values (?, ?, ?, ?, ?, ?::jsonb, now())`,
    [id, run.organization_id, run.workspace_id, run.id, run.conversation_id, JSON.stringify(content)],
  );
}

/** Turns the unread inputs of a run's conversation into messages of the run, after its existing ones; returns them. */
export function takeUnread(
  tx: TenantTransaction,
  run: RunState,
  step: number,
): Promise<{ readonly id: string; readonly content: ContentBlock[] }[]> {
  return rows<{ id: string; content: ContentBlock[] }>(
    tx.em,
    `with unread as (
       update run_inputs set read_at_step = ? where conversation_id = ? and read_at_step is null returning id, content, created_at
     ), placed as (
       insert into messages (id, organization_id, workspace_id, conversation_id, run_id, turn, pos, role, origin, content, state, attempt, created_at)
       select u.id, ?, ?, ?, ?::uuid, ?, coalesce((select max(m.pos) + 1 from messages m where m.run_id = ?::uuid), 0) + (row_number() over (order by u.id))::int - 1,
              'user', 'user', u.content, 'pending', 1, u.created_at from unread u
     )
     select id, content from unread order by id`,
    [step, run.conversation_id, run.organization_id, run.workspace_id, run.conversation_id, run.id, run.turn_no ?? 0, run.id],
  );
}
