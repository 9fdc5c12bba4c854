import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { writeSystemEntry } from '../audit/system-entry.ts';
import { hasRates, insertRates, type NewRate } from '../../db/billing/prices/fx-rates.ts';

/** Stores rates, audited; a pair that has a rate of that day retains it. Returns how many are new. */
export async function storeRates(em: SqlEntityManager, rates: readonly NewRate[]): Promise<number> {
  const created = await insertRates(em, rates);
  if (created === 0) return 0;
  const note = { resourceType: 'fx_rate', organizationId: null, changes: { created: { to: created }, source: { to: rates[0]?.source } } };
  await writeSystemEntry(em, { action: 'create', note });
  return created;
}

/** Stores rates of a currency that has none at all yet. */
export async function storeFirstRates(
  em: SqlEntityManager,
  { base, rates }: { readonly base: string; readonly rates: readonly NewRate[] },
): Promise<void> {
  if (!(await hasRates(em, base))) await storeRates(em, rates);
}
