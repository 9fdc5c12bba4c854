import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import { query } from '../query.ts';
import { rows } from '../sql.ts';
import type { AuditAction } from './audit.ts';
import { inChain, organizationOfChain, platformChain } from './chain.ts';
import { brokenSeal, checkEntries, sealColumns, type Checking, type Seal } from './check-seal.ts';
import type { SealedEntry } from './entry-form.ts';
import type { AuditKeys } from './seal.ts';

/** The shortest retention of an organization's log, in days. */
export const fewestDays = 30;

/** A genuine purge of the log: made by a process that holds the keys, or before such purges had their own seals. */
export interface ProvenPurge {
  /** The last seal whose entries it deleted, with all before it. */
  readonly throughSeal: number;
  readonly atMs: number;
  /** The organization's log retention at that time. */
  readonly days: number;
}

const dayMs = 86_400_000;

/**
 * Returns the valid purges of a chain's own entries, by the last seal they covered. An entry that anyone with database access could have written proves
 * nothing.
 */
export async function provenPurges(em: SqlEntityManager, { auditKeys, chain }: Omit<Checking, 'report'>): Promise<ProvenPurge[]> {
  const found = await provenEntries(em, { auditKeys }, { chain, actions: ['purge'], resourceType: logResource });
  return found
    .map((entry) => ({
      throughSeal: numberIn(entry, 'through_seal') ?? 0,
      atMs: Date.parse(entry.createdAt),
      days: Math.max(fewestDays, numberIn(entry, 'days') ?? fewestDays),
    }))
    .toSorted((one, other) => one.throughSeal - other.throughSeal);
}

/** Returns the organizations whose purge has begun or is done: the remains of their chains, or their absence, are in order. */
export async function buriedOrganizations(em: SqlEntityManager, { auditKeys }: AuditKeys): Promise<Set<string>> {
  // The purge is recorded before its first row is deleted, and once more at its end; in earlier releases only at its end.
  const found = await provenEntries(
    em,
    { auditKeys },
    { chain: platformChain, actions: ['submit', 'purge'], resourceType: 'organization' },
  );
  return new Set(found.flatMap(({ resourceId }) => resourceId ?? []));
}

/** Entries are deleted by whole seals from the oldest on, once past their days; a proven purge says how far. Nothing is deleted from the platform's chain. */
export function checkPurged(checking: Checking, at: { seal: Seal; previous: Seal | null; purges: readonly ProvenPurge[] }): void {
  const { seal, previous, purges } = at;
  const purge = purges.find(({ throughSeal }) => throughSeal >= seal.sealNo);
  if (checking.chain === platformChain)
    return brokenSeal(checking, seal, "its entries are gone as if purged, but the platform's are never purged");
  if (previous && previous.purgedAt === null)
    return brokenSeal(checking, seal, 'its entries are purged, those of the seal before it are not');
  if (!purge) return brokenSeal(checking, seal, 'its entries are gone as if purged, but no sealed purge entry says so');
  if (Date.parse(seal.createdAt) > purge.atMs - purge.days * dayMs)
    brokenSeal(checking, seal, `its entries were purged before they were ${purge.days} days old`);
}

interface Wanted {
  readonly chain: string;
  readonly actions: readonly AuditAction[];
  readonly resourceType: string;
}

async function provenEntries(em: SqlEntityManager, { auditKeys }: AuditKeys, wanted: Wanted): Promise<SealedEntry[]> {
  const sealNos = query
    .selectFrom('audit_entries as e')
    .select('e.sealNo')
    .where(inChain(organizationOfChain(wanted.chain), 'e'))
    .where('e.resourceType', '=', wanted.resourceType)
    .where(sql<boolean>`e.action = any(${[...wanted.actions]}::text[])`);
  const seals = await rows(
    em,
    query
      .selectFrom('audit_seals as s')
      .select(sealColumns)
      .where('s.chain', '=', wanted.chain)
      .where('s.purgedAt', 'is', null)
      .where('s.sealNo', 'in', sealNos)
      .orderBy('s.sealNo'),
  );
  const proven: SealedEntry[] = [];
  // Faults of these seals are reported where the whole chain is checked.
  for await (const { kind, entries } of checkEntries(em, { auditKeys, chain: wanted.chain, report: () => undefined }, seals)) {
    if (kind !== 'purge' && kind !== 'former') continue;
    proven.push(...entries.filter((entry) => entry.resourceType === wanted.resourceType && wanted.actions.includes(entry.action)));
  }
  return proven;
}

function numberIn({ changes }: SealedEntry, field: string): number | null {
  const change = changes[field];
  const value: unknown = typeof change === 'object' && change !== null ? Reflect.get(change, 'to') : null;
  return typeof value === 'number' ? value : null;
}

/** Resource type of the log itself. */
export const logResource = 'audit_log';
