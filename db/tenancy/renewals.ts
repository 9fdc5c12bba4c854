import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { row } from '../sql.ts';

/** Since when an interrupted renewal renews keys, by its mark; null when none is open. */
export async function openRenewal(em: SqlEntityManager, mark: string): Promise<string | null> {
  const open = await row<{ before: string }>(
    em,
    "select detail ->> 'before' as before from system_marks where name = ? and not (detail ->> 'is_done')::boolean",
    [mark],
  );
  return open?.before ?? null;
}

/** The time of the transaction, as the database writes it. */
export async function transactionTime(em: SqlEntityManager): Promise<string> {
  const clock = await row<{ now: string }>(em, 'select now()::text as now');
  return clock?.now ?? '';
}
