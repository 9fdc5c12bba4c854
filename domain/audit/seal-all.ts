import type { Logger } from 'pino';
import { setMark } from '../../db/http/system-marks.ts';
import type { Databases } from '../../db/databases.ts';
import { sweep } from '../../db/transaction.ts';
import { chainOf } from '../../db/audit/chain.ts';
import { chainsToSeal, maxInSeal, sealChain, type AuditKeys } from '../../db/audit/seal.ts';

/** The most chains of one tick; the rest come first in the next. */
const maxChains = 500;

/** Key in `system_marks` of the time when the log was last sealed. */
export const sealMark = 'audit_seal';

export interface Sealed {
  readonly chains: number;
  readonly entries: number;
}

/**
 * Seals what is due in every chain, each seal in a transaction of its own: after a kill at any point the next tick continues with unsealed entries. A chain
 * that can't be sealed does not block the others; its error is thrown at the end.
 */
export async function sealAll(
  db: Databases,
  keys: AuditKeys,
  { log, signal }: { readonly log: Logger; readonly signal: AbortSignal },
): Promise<Sealed> {
  const due = await sweep(db, (em) => chainsToSeal(em, maxChains));
  const faults: unknown[] = [];
  let entries = 0;

  for (const organizationId of due) {
    try {
      entries += await sealWhole(db, keys, organizationId, signal);
    } catch (err) {
      signal.throwIfAborted();
      log.error({ err, chain: chainOf(organizationId) }, 'audit chain not sealed');
      faults.push(err);
    }
  }
  if (faults.length > 0) throw faults[0];

  const sealed = { chains: due.length, entries };
  await sweep(db, (em) => setMark(em, sealMark, sealed));
  if (entries > 0) log.info(sealed, 'audit log sealed');
  return sealed;
}

async function sealWhole(db: Databases, keys: AuditKeys, organizationId: string | null, signal: AbortSignal): Promise<number> {
  let entries = 0;
  for (let count = maxInSeal; count === maxInSeal; entries += count) {
    signal.throwIfAborted();
    count = await sweep(db, (em) => sealChain(em, keys, organizationId));
  }
  return entries;
}
