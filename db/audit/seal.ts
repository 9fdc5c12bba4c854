import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { sql } from 'kysely';
import type { KeyRing } from '../key-ring.ts';
import { query } from '../query.ts';
import { change, row, rows } from '../sql.ts';
import { chainOf, inChain, lockChain, tryLockChain } from './chain.ts';
import { entryForm, entryMac, sealMac, unsealedColumns, type SealKind, type UnsealedEntry } from './entry-form.ts';

export type AuditKeys = Pick<KeyRing, 'auditKeys'>;

/** Maximum number of entries in one seal. */
export const maxInSeal = 5_000;

/** Entries of this age are sealed: nearly everything written before them has been committed by then. */
const settled = sql<boolean>`created_at < now() - interval '10 seconds'`;

/** Returns the organizations (null: the platform) with entries to seal, the longest-waiting first. Sweeper's pool. */
export async function chainsToSeal(em: SqlEntityManager, limit: number): Promise<(string | null)[]> {
  const found = await rows(
    em,
    query
      .selectFrom('audit_entries')
      .where('sealNo', 'is', null)
      .where(settled)
      .groupBy('organizationId')
      .select('organizationId')
      .orderBy(({ fn }) => fn.min('createdAt'))
      .limit(limit),
  );
  return found.map((chain) => chain.organizationId);
}

/**
 * Seals the oldest entries of one chain, at most `maxInSeal`: continues their numbers from the last seal and binds them to it. Returns how many; 0 when there
 * are none or another process is sealing. An entry that is committed late gets into the next seal. Sweeper's pool.
 */
export async function sealChain(em: SqlEntityManager, keys: AuditKeys, organizationId: string | null): Promise<number> {
  if (!(await tryLockChain(em, chainOf(organizationId)))) return 0;
  const entries = await takeUnsealed(em, organizationId);
  if (entries.length > 0) await writeSeal(em, keys, { organizationId, kind: 'entries', entries });
  return entries.length;
}

/**
 * Seals an entry of this transaction by itself, as proof that its author deleted what it names: an attacker who can only write to the database can have an
 * entry sealed, but not in this form. Waits for the chain's lock and holds it until the end of the transaction. Sweeper's pool.
 */
export async function sealProof(
  em: SqlEntityManager,
  keys: AuditKeys,
  proof: { organizationId: string | null; entryId: string },
): Promise<void> {
  const { organizationId, entryId } = proof;
  await lockChain(em, chainOf(organizationId));
  const entries = await rows(
    em,
    query.selectFrom('audit_entries').select(unsealedColumns).where('id', '=', entryId).where('sealNo', 'is', null),
  );
  await writeSeal(em, keys, { organizationId, kind: 'purge', entries });
}

interface Sealing {
  readonly organizationId: string | null;
  readonly kind: SealKind;
  readonly entries: readonly UnsealedEntry[];
}

/** Runs under the chain's lock, so that it sees what the last holder wrote. */
async function writeSeal(em: SqlEntityManager, { auditKeys: [key] }: AuditKeys, { organizationId, kind, entries }: Sealing): Promise<void> {
  const chain = chainOf(organizationId);
  const last = await row(
    em,
    query
      .selectFrom('audit_seals')
      .select(['sealNo', 'lastSeq', 'mac'])
      .where('chain', '=', chain)
      .orderBy('sealNo', 'desc')
      .limit(sql.lit(1)),
  );
  const sealNo = (last?.sealNo ?? 0) + 1;
  const firstSeq = (last?.lastSeq ?? 0) + 1;
  const forms = entries.map((entry, at) => entryForm({ ...entry, seq: firstSeq + at, sealNo }));
  const mac = sealMac(key.secret, kind, { previousMac: last?.mac ?? null, forms });
  const entryMacs = Buffer.concat(forms.map((form) => entryMac(key.secret, form)));
  await numberEntries(em, entries, { sealNo, firstSeq });
  const spanned = { firstSeq, lastSeq: firstSeq + entries.length - 1, entries: entries.length };
  const proof = { mac, previousMac: last?.mac ?? null, entryMacs, keyId: key.id };
  await change(em, query.insertInto('audit_seals').values({ chain, sealNo, organizationId, ...spanned, ...proof }));
}

function takeUnsealed(em: SqlEntityManager, organizationId: string | null): Promise<UnsealedEntry[]> {
  return rows(
    em,
    query
      .selectFrom('audit_entries')
      .select(unsealedColumns)
      .where(inChain(organizationId))
      .where('sealNo', 'is', null)
      .where(settled)
      .orderBy('createdAt')
      .orderBy('id')
      .limit(sql.lit(maxInSeal)),
  );
}

async function numberEntries(
  em: SqlEntityManager,
  entries: readonly UnsealedEntry[],
  { sealNo, firstSeq }: { readonly sealNo: number; readonly firstSeq: number },
): Promise<void> {
  const ids = entries.map((entry) => entry.id);
  const numbered = await change(
    em,
    query
      .updateTable('audit_entries')
      .from(sql<{ id: string; at: number }>`unnest(${ids}::uuid[]) with ordinality`.as<'n'>(sql`n (id, at)`))
      .set(({ ref }) => ({ seq: sql<number>`${ref('n.at')} + ${firstSeq}::bigint - 1`, sealNo }))
      .whereRef('audit_entries.id', '=', 'n.id')
      .where('audit_entries.sealNo', 'is', null),
  );
  if (numbered !== entries.length) throw new Error(`Sealing ${entries.length} entries numbered ${numbered}`);
}
