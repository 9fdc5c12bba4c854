import { followedTime } from '../../db/database-clock.ts';
import type { SqlEntityManager } from '@mikro-orm/postgresql';
import type { Logger } from 'pino';
import { setMark } from '../../db/http/system-marks.ts';
import { sweepLoginFailures } from '../identity/factors/login-failure-retention.ts';
import type { Databases } from '../../db/databases.ts';
import { sweep } from '../../db/transaction.ts';
import { chainOf, lockChain } from '../../db/audit/chain.ts';
import { checkEntries, type Checking, type Report } from '../../db/audit/check-seal.ts';
import { provenPurges, logResource } from '../../db/audit/proofs.ts';
import { writePurgeEntry } from './system-entry.ts';
import { sealProof, type AuditKeys } from '../../db/audit/seal.ts';
import { organizationsPastRetention, dueSeals, takeSeals, sealsBetween } from '../../db/audit/retention.ts';

/** The mark in `system_marks` that says when retention ran last. */
export const retentionMark = 'retention';

/** A transaction takes away at most so many seals, and stops after so many entries. */
const maxSeals = 2_000;
const maxEntries = 20_000;

/** What one run took away. */
export interface Retained {
  readonly organizations: number;
  readonly auditEntries: number;
  readonly auditSeals: number;
  readonly loginFailures: number;
}

/**
 * Deletes audit entries past their organization's `audit_retention_days`, by whole seals from the oldest on, and failed logins by age and
 * number. Each transaction takes some and writes one `purge` entry with counts: killed anywhere, the next run goes on. An organization whose
 * entries can't be taken, or don't hold any more, keeps no other from it; its error is thrown at the end. The platform's own chain has no end of keeping.
 */
export async function runRetention(
  db: Databases,
  keys: AuditKeys,
  { log, signal }: { readonly log: Logger; readonly signal: AbortSignal },
): Promise<Retained> {
  const due = await sweep(db, organizationsPastRetention);
  const total = { organizations: 0, auditEntries: 0, auditSeals: 0, loginFailures: 0 };

  const faults: unknown[] = [];
  for (const organizationId of due) {
    try {
      const purged = await purgeLog(db, keys, { organizationId, signal });
      total.auditSeals += purged.seals;
      total.auditEntries += purged.entries;
      total.organizations += 1;
    } catch (err) {
      signal.throwIfAborted();
      log.error({ err, organization_id: organizationId }, 'audit entries not purged');
      faults.push(err);
    }
  }
  total.loginFailures = await sweepLoginFailures(db, signal);
  if (faults.length > 0) throw faults[0];

  await sweep(db, (em) => setMark(em, retentionMark, total));
  log.info(total, 'retention ran');
  return total;
}

/** Takes everything that is due from the log of one organization. */
async function purgeLog(
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
 * Takes the oldest seals of a chain that are past their days; none where no settings say how many. A seal is younger than all its entries, so
 * its own time decides. The entry that says so is sealed with it: killed anywhere, both stand or neither.
 */
async function purgeSeals(em: SqlEntityManager, keys: AuditKeys, organizationId: string): Promise<Purged> {
  const chain = chainOf(organizationId);
  await lockChain(em, chain);
  const due = await dueSeals(em, organizationId, { maxSeals, maxEntries });
  if (!due || due.seals === 0 || due.from_seal === null || due.through_seal === null || due.days === null) return { seals: 0, entries: 0 };
  const { seals, through_seal: throughSeal, days } = due;
  await refuseUntrue(em, { ...keys, chain }, { fromSeal: due.from_seal, throughSeal, days });

  const entries = await takeSeals(em, organizationId, { throughSeal, throughSeq: due.through_seq });
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
 * What is taken can't be held against its seal any more: so it has to hold now, by its own times, and what was taken before it has to be accounted for. Else
 * whoever can write to the database would have us delete, or vouch for, what they like.
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
    if (entries.some((entry) => Date.parse(entry.created_at) > youngestMs))
      refuse(`seal ${seal.seal_no} holds entries that are younger than ${days} days`);
}
