import { type RawBuilder, type Selectable, sql } from 'kysely';
import type { KeyedBill } from '../billing/ledger/call-bill.ts';
import { query } from '../query.ts';
import { change } from '../sql.ts';
import type { Tables } from '../table-types.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { StoredVote } from './evaluation-result.entity.ts';
import type { ClaimedResult } from './write-work.ts';

/** Condition: the vote of this name is stored. */
const isGiven = (name: string) => sql<boolean>`coalesce(jsonb_exists(votes -> ${name}::text, 'value'), false)`;

type Votes = Selectable<Tables['evaluation_results']>['votes'];

/** The votes of a result, and this one, given as JSON. */
const withVote = (name: string, vote: RawBuilder<unknown>) => sql<Votes>`votes || jsonb_build_object(${name}::text, ${vote})`;

/**
 * Records that a vote is being requested now. Returns false when another attempt scores the result by now, or the vote is already stored: then it must not be
 * requested.
 */
export async function markAsked(
  tx: TenantTransaction,
  { id, attempts }: Pick<ClaimedResult, 'id' | 'attempts'>,
  { name, bill }: { readonly name: string; readonly bill: KeyedBill },
): Promise<boolean> {
  const marked = await change(
    tx.em,
    query
      .updateTable('evaluation_results')
      .set({ votes: withVote(name, sql`jsonb_build_object('asked', ${JSON.stringify(bill)}::jsonb)`) })
      .where('id', '=', id)
      .where('attempts', '=', attempts)
      .where('status', '=', 'scoring')
      .where(({ not }) => not(isGiven(name))),
  );
  return marked > 0;
}

/** Removes the record that a vote was requested under this call key. Does nothing where another call, or the vote itself, has replaced it. */
export async function unmarkAsked(
  tx: TenantTransaction,
  resultId: string,
  { name, callKey }: { readonly name: string; readonly callKey: string },
) {
  await change(
    tx.em,
    query
      .updateTable('evaluation_results')
      .set({ votes: sql<Votes>`votes - ${name}::text` })
      .where('id', '=', resultId)
      .where(sql<boolean>`votes #>> array[${name}, 'asked', 'callKey'] = ${callKey}`),
  );
}

/** Stores a vote of a judge, once: a later one of the same name changes nothing. */
export async function storeVote(tx: TenantTransaction, resultId: string, name: string, vote: StoredVote): Promise<void> {
  await change(
    tx.em,
    query
      .updateTable('evaluation_results')
      .set({ votes: withVote(name, sql`${JSON.stringify(vote)}::jsonb`) })
      .where('id', '=', resultId)
      .where('status', '=', 'scoring')
      .where(({ not }) => not(isGiven(name))),
  );
}
