import { sql } from 'kysely';
import { prepared, type ParametersOf } from '../../prepared.ts';
import { query } from '../../query.ts';
import { row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

const wholeOutput = prepared(({ runId, callId }: ParametersOf<{ readonly runId: string; readonly callId: string }>) => {
  const body = sql<string>`coalesce(o.body, c.output #>> '{}')`;
  return query
    .selectFrom('tool_calls as c')
    .innerJoin('runs as r', 'r.id', 'c.runId')
    .leftJoin('tool_outputs as o', (join) => join.onRef('o.runId', '=', 'c.runId').onRef('o.callId', '=', 'c.id'))
    .select(body.as('body'))
    .where('c.id', '=', callId)
    .where(body, 'is not', null)
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('runs as k')
          .select('k.id')
          .where('k.id', '=', runId)
          .where((eb) =>
            eb.or([
              eb('r.conversationId', '=', eb.ref('k.conversationId')),
              eb.exists(
                eb
                  .selectFrom('messages as m')
                  .select('m.id')
                  .whereRef('m.conversationId', '=', 'k.conversationId')
                  .whereRef('m.toolCallId', '=', 'c.id')
                  .where('m.state', '=', sql.lit('committed')),
              ),
            ]),
          ),
      ),
    );
});

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
  const found = await row(tx.em, wholeOutput({ runId, callId }));
  return found ? { text: found.body.slice(offset, offset + limit), totalChars: found.body.length } : null;
}

const callIdPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
