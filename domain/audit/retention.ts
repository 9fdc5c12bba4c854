import { followedTime } from '../../db/database-clock.ts';
import type { SqlEntityManager } from '@mikro-orm/postgresql';
import type { Databases } from '../../db/databases.ts';
import { sweep } from '../../db/transaction.ts';
import { chainOf, lockChain } from '../../db/audit/chain.ts';
import { checkEntries, type Checking, type Report } from '../../db/audit/check-seal.ts';
import { provenPurges, logResource } from '../../db/audit/proofs.ts';
import { writePurgeEntry } from './system-entry.ts';
import { sealProof, type AuditKeys } from '../../db/audit/seal.ts';
import { dueSeals, takeSeals, sealsBetween } from '../../db/audit/retention.ts';

/** A transaction deletes at most `maxSeals` seals, and stops after `maxEntries` entries. */
const maxSeals = 2_000;
const maxEntries = 20_000;

/** Deletes everything that is due from the log of one organization. */
export async function purgeLog(
  db: Databases,
  keys: AuditKeys,
  { organizationId, signal }: { readonly organizationId: string; readonly signal: AbortSignal },
): Promise<Purged> {
  const total = { seals: 0, entries: 0 };
  for (;;) {
    signal.throwIfAborted();
    const purged = await sweep(db, (em) => purgeSeals(em, keys, organizationId));
    if (purged.seals === 0) return total;
    total.seals += purged.seals;
    total.entries += purged.entries;
  }
}

interface Purged {
  readonly seals: number;
  readonly entries: number;
}

/**
 * Deletes the oldest seals of a chain that are past their days; none when no setting gives the number of days. A seal is younger than all its entries, so its
 * own time decides. The entry that records this is sealed in the same transaction: after a kill either both exist or neither.
 */
async function purgeSeals(em: SqlEntityManager, keys: AuditKeys, organizationId: string): Promise<Purged> {
  const chain = chainOf(organizationId);
  await lockChain(em, chain);
  const due = await dueSeals(em, organizationId, { maxSeals, maxEntries });
  if (!due || due.seals === 0 || due.fromSeal === null || due.throughSeal === null || due.days === null) return { seals: 0, entries: 0 };
  const { seals, throughSeal, days } = due;
  await refuseUntrue(em, { ...keys, chain }, { fromSeal: due.fromSeal, throughSeal, days });

  const entries = await takeSeals(em, organizationId, { throughSeal, throughSeq: due.throughSeq });
  const counts = { entries, seals, through_seal: throughSeal, days };
  const entryId = await writePurgeEntry(em, { organizationId, resourceType: logResource, counts });
  await sealProof(em, keys, { organizationId, entryId });
  return { seals, entries };
}

interface Taking {
  readonly fromSeal: number;
  readonly throughSeal: number;
  readonly days: number;
}

/**
 * Deleted entries can't be compared with their seal any more: so they have to match it now, by their own times, and earlier deletions have to be accounted for.
 * Otherwise an attacker who can write to the database could make us delete, or vouch for, anything.
 */
async function refuseUntrue(
  em: SqlEntityManager,
  checking: Omit<Checking, 'report'>,
  { fromSeal, throughSeal, days }: Taking,
): Promise<void> {
  const refuse = (what: string): never => {
    throw new Error(`Nothing is taken from the audit log of ${checking.chain}: ${what}; see longhaul audit verify`);
  };
  const purges = await provenPurges(em, checking);
  if (fromSeal > 1 && (purges.at(-1)?.throughSeal ?? 0) < fromSeal - 1) refuse(`what is gone before seal ${fromSeal} was not purged by us`);

  const seals = await sealsBetween(em, checking.chain, { fromSeal, throughSeal });
  const report: Report = ({ sealNo, message }) => refuse(`seal ${sealNo}: ${message}`);
  const youngestMs = followedTime(em).getTime() - days * 86_400_000;
  for await (const { seal, entries } of checkEntries(em, { ...checking, report }, seals))
    if (entries.some((entry) => Date.parse(entry.createdAt) > youngestMs))
      refuse(`seal ${seal.sealNo} holds entries that are younger than ${days} days`);
}
