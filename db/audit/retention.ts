import type { SqlEntityManager } from '@mikro-orm/postgresql';
import type { Logger } from 'pino';
import { setMark } from '../http/system-status.ts';
import { sweepLoginFailures } from '../identity/login-failure-retention.ts';
import type { Databases } from '../orm.ts';
import { change, row, rows } from '../sql.ts';
import { sweep } from '../transaction.ts';
import { chainOf, lockChain } from './chain.ts';
import { logResource, writePurgeEntry } from './purge-entry.ts';

/** The mark in `system_marks` that says when retention ran last. */
export const retentionMark = 'retention';

/** A transaction takes away at most so many seals, and stops after so many entries. */
const mostSeals = 2_000;
const mostEntries = 20_000;

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
 * entries can't be taken keeps no other from it; its error is thrown at the end. The platform's own chain has no end of keeping.
 */
export async function runRetention(
  db: Databases,
  { log, signal }: { readonly log: Logger; readonly signal: AbortSignal },
): Promise<Retained> {
  const due = await sweep(db, organizationsPastRetention);
  const total = { organizations: 0, auditEntries: 0, auditSeals: 0, loginFailures: 0 };

  const faults: unknown[] = [];
  for (const organizationId of due) {
    try {
      const purged = await purgeLog(db, organizationId, signal);
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
async function purgeLog(db: Databases, organizationId: string, signal: AbortSignal): Promise<Purged> {
  const total = { seals: 0, entries: 0 };
  for (;;) {
    signal.throwIfAborted();
    const purged = await sweep(db, (em) => purgeSeals(em, organizationId));
    if (purged.seals === 0) return total;
    total.seals += purged.seals;
    total.entries += purged.entries;
  }
}

/** Organizations whose oldest kept seal is past its days. */
async function organizationsPastRetention(em: SqlEntityManager): Promise<string[]> {
  const found = await rows<{ id: string }>(
    em,
    `select s.organization_id as id from organization_settings s
     where (select a.created_at from audit_seals a where a.chain = s.organization_id::text and a.purged_at is null order by a.seal_no limit 1)
       < now() - make_interval(days => s.audit_retention_days)
     order by 1`,
  );
  return found.map(({ id }) => id);
}

interface Purged {
  readonly seals: number;
  readonly entries: number;
}

interface DueSeals {
  readonly seals: number;
  readonly through_seal: number | null;
  readonly through_seq: number | null;
}

/**
 * Takes the oldest seals of a chain that are past their days; none where no settings say how many. A seal is younger than all its entries, so
 * its own time decides.
 */
async function purgeSeals(em: SqlEntityManager, organizationId: string): Promise<Purged> {
  const chain = chainOf(organizationId);
  await lockChain(em, chain);

  const due = await row<DueSeals>(
    em,
    `with oldest as (
       select seal_no, last_seq, created_at, sum(entries) over (order by seal_no) - entries as before
       from audit_seals where chain = ? and purged_at is null order by seal_no limit ${mostSeals}),
     kept as (
       select s.organization_id, min(o.seal_no) filter (where o.created_at >= now() - make_interval(days => s.audit_retention_days)) as seal_no
       from organization_settings s, oldest o where s.organization_id = ?::uuid group by s.organization_id)
     select count(*) as seals, max(o.seal_no) as through_seal, max(o.last_seq) as through_seq
     from oldest o, kept k where o.before < ${mostEntries} and (k.seal_no is null or o.seal_no < k.seal_no)`,
    [chain, organizationId],
  );
  if (!due || due.seals === 0 || due.through_seal === null) return { seals: 0, entries: 0 };

  const entries = await change(em, 'delete from audit_entries where organization_id = ?::uuid and seq <= ?::bigint', [
    organizationId,
    due.through_seq,
  ]);
  await change(
    em,
    "update audit_seals set purged_at = now(), entry_macs = '' where chain = ? and purged_at is null and seal_no <= ?::bigint",
    [chain, due.through_seal],
  );
  await writePurgeEntry(em, {
    organizationId,
    resourceType: logResource,
    counts: { entries, seals: due.seals, through_seal: due.through_seal },
  });
  return { seals: due.seals, entries };
}
