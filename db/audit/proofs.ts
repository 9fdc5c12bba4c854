import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { rows } from '../sql.ts';
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
      atMs: Date.parse(entry.created_at),
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
  return new Set(found.flatMap(({ resource_id: id }) => (id === null ? [] : [id])));
}

/** Entries are deleted by whole seals from the oldest on, once past their days; a proven purge says how far. Nothing is deleted from the platform's chain. */
export function checkPurged(checking: Checking, at: { seal: Seal; previous: Seal | null; purges: readonly ProvenPurge[] }): void {
  const { seal, previous, purges } = at;
  const purge = purges.find(({ throughSeal }) => throughSeal >= seal.seal_no);
  if (checking.chain === platformChain)
    return brokenSeal(checking, seal, "its entries are gone as if purged, but the platform's are never purged");
  if (previous && previous.purged_at === null)
    return brokenSeal(checking, seal, 'its entries are purged, those of the seal before it are not');
  if (!purge) return brokenSeal(checking, seal, 'its entries are gone as if purged, but no sealed purge entry says so');
  if (Date.parse(seal.created_at) > purge.atMs - purge.days * dayMs)
    brokenSeal(checking, seal, `its entries were purged before they were ${purge.days} days old`);
}

interface Wanted {
  readonly chain: string;
  readonly actions: readonly string[];
  readonly resourceType: string;
}

async function provenEntries(em: SqlEntityManager, { auditKeys }: AuditKeys, wanted: Wanted): Promise<SealedEntry[]> {
  const own = inChain(organizationOfChain(wanted.chain), 'e');
  const seals = await rows<Seal>(
    em,
    `select ${sealColumns} from audit_seals s where s.chain = ? and s.purged_at is null and s.seal_no in (
       select e.seal_no from audit_entries e where ${own.sql} and e.resource_type = ? and e.action = any (?)) order by s.seal_no`,
    [wanted.chain, ...own.params, wanted.resourceType, [...wanted.actions]],
  );
  const proven: SealedEntry[] = [];
  // Faults of these seals are reported where the whole chain is checked.
  for await (const { kind, entries } of checkEntries(em, { auditKeys, chain: wanted.chain, report: () => undefined }, seals)) {
    if (kind !== 'purge' && kind !== 'former') continue;
    proven.push(...entries.filter((entry) => entry.resource_type === wanted.resourceType && wanted.actions.includes(entry.action)));
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
