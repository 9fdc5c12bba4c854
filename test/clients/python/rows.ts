import { rows } from '../../../db/sql.ts';
import { sweep } from '../../../db/transaction.ts';
import type { Stack } from '../../support/stack.ts';

/** The number that a query of the form `select count(*)::int as n …` finds. */
export async function count(stack: Stack, sql: string, values: readonly unknown[]): Promise<number> {
  const [row] = await sweep(stack.db, (em) => rows<{ n: number }>(em, sql, [...values]));
  return row?.n ?? 0;
}
