import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { row } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { ToolTestResult } from './tool-test.entity.ts';

const resultById = prepared(({ testId }: ParametersOf<{ testId: string }>) =>
  query.selectFrom('tool_tests as s').select('s.result').where('s.id', '=', testId),
);

/** Returns the result of a test, or null while there is none. */
export async function readToolTestResult(tx: Pick<TenantTransaction, 'em'>, testId: string): Promise<ToolTestResult | null> {
  const found = await row(tx.em, resultById({ testId }));
  return found?.result ?? null;
}
