import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/**
 * Returns part of the whole output of an earlier call in the run's conversation, or of a call that a fork copied. This includes outputs that were never
 * truncated, since they may have been omitted from the prompt since. Returns null when no output is stored under that id.
 */
export async function readWholeOutput(
  tx: TenantTransaction,
  runId: string,
  callId: string,
  offset: number,
  limit: number,
): Promise<{ text: string; totalChars: number } | null> {
  if (!callIdPattern.test(callId)) return null; // a model may write anything
  const found = await row<{ body: string }>(
    tx.em,
    `select coalesce(o.body, c.output #>> '{}') as body from tool_calls c join runs r on r.id = c.run_id
       left join tool_outputs o on o.run_id = c.run_id and o.call_id = c.id
      where c.id = ?::uuid and coalesce(o.body, c.output #>> '{}') is not null and exists (select from runs k where k.id = ? and (r.conversation_id = k.conversation_id
        or exists (select from messages m where m.conversation_id = k.conversation_id and m.tool_call_id = c.id and m.state = 'committed')))`,
    [callId, runId],
  );
  return found ? { text: found.body.slice(offset, offset + limit), totalChars: found.body.length } : null;
}

const callIdPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
