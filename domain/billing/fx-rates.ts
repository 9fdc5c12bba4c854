import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { writeAudit } from '../../db/audit/audit.ts';
import { hasRates, insertRates, type NewRate } from '../../db/billing/fx-rates.ts';
import { newId } from '../../db/ids.ts';
import { emptyOutgoing, nobodyTenant, systemActor } from '../../db/transaction.ts';

/** Stores rates, audited; a pair that has a rate of that day keeps it. Gives how many are new. */
export async function storeRates(em: SqlEntityManager, rates: readonly NewRate[]): Promise<number> {
  const created = await insertRates(em, rates);
  if (created === 0) return 0;
  const tx = { em, tenant: nobodyTenant, actor: systemActor, correlationId: newId(), outgoing: emptyOutgoing() };
  const note = { resourceType: 'fx_rate', organizationId: null, changes: { created: { to: created }, source: { to: rates[0]?.source } } };
  await writeAudit(tx, { action: 'create', operationId: null, note, ip: null, userAgent: null });
  return created;
}

/** Stores rates of a currency that has none at all yet. */
export async function storeFirstRates(
  em: SqlEntityManager,
  { base, rates }: { readonly base: string; readonly rates: readonly NewRate[] },
): Promise<void> {
  if (!(await hasRates(em, base))) await storeRates(em, rates);
}
