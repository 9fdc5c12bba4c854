import type { SqlEntityManager } from '@mikro-orm/postgresql';
import type { KeyRing } from '../identity/keys/key-ring.ts';
import { change, row, rows } from '../sql.ts';
import { chainOf, inChain, lockChain, tryLockChain } from './chain.ts';
import { entryForm, entryMac, sealMac, unsealedColumns, type SealedEntry, type SealKind } from './entry-form.ts';

export type AuditKeys = Pick<KeyRing, 'auditKeys'>;

/** Maximum number of entries in one seal. */
export const maxInSeal = 5_000;

/** Entries of this age are sealed: nearly everything written before them has been committed by then. */
const settled = "created_at < now() - interval '10 seconds'";

interface LastSeal {
  readonly seal_no: number;
  readonly last_seq: number;
  readonly mac: Buffer;
}

type UnsealedEntry = Omit<SealedEntry, 'seq' | 'seal_no'>;

/** Returns the organizations (null: the platform) with entries to seal, the longest-waiting first. Sweeper's pool. */
export async function chainsToSeal(em: SqlEntityManager, limit: number): Promise<(string | null)[]> {
  const found = await rows<{ organization_id: string | null }>(
    em,
    `select organization_id from audit_entries where seal_no is null and ${settled} group by organization_id order by min(created_at) limit ?`,
    [limit],
  );
  return found.map((chain) => chain.organization_id);
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
  const entries = await rows<UnsealedEntry>(em, `select ${unsealedColumns} from audit_entries where id = ? and seal_no is null`, [entryId]);
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
  const last = await row<LastSeal>(em, 'select seal_no, last_seq, mac from audit_seals where chain = ? order by seal_no desc limit 1', [
    chain,
  ]);
  const sealNo = (last?.seal_no ?? 0) + 1;
  const firstSeq = (last?.last_seq ?? 0) + 1;
  const forms = entries.map((entry, at) => entryForm({ ...entry, seq: firstSeq + at, seal_no: sealNo }));
  const mac = sealMac(key.secret, kind, { previousMac: last?.mac ?? null, forms });
  const entryMacs = Buffer.concat(forms.map((form) => entryMac(key.secret, form)));
  await numberEntries(em, entries, { sealNo, firstSeq });
  await change(
    em,
    `insert into audit_seals (chain, seal_no, organization_id, first_seq, last_seq, entries, mac, previous_mac, entry_macs, key_id)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    [chain, sealNo, organizationId, firstSeq, firstSeq + entries.length - 1, entries.length, mac, last?.mac ?? null, entryMacs, key.id],
  );
}

async function takeUnsealed(em: SqlEntityManager, organizationId: string | null): Promise<UnsealedEntry[]> {
  const own = inChain(organizationId);
  return rows<UnsealedEntry>(
    em,
    `select ${unsealedColumns} from audit_entries where ${own.sql} and seal_no is null and ${settled} order by created_at, id limit ${maxInSeal}`,
    own.params,
  );
}

async function numberEntries(
  em: SqlEntityManager,
  entries: readonly UnsealedEntry[],
  { sealNo, firstSeq }: { readonly sealNo: number; readonly firstSeq: number },
): Promise<void> {
  const numbered = await change(
    em,
    `update audit_entries e set seq = n.at + ?::bigint - 1, seal_no = ? from unnest(?::uuid[]) with ordinality as n (id, at)
     where e.id = n.id and e.seal_no is null`,
    [firstSeq, sealNo, entries.map((entry) => entry.id)],
  );
  if (numbered !== entries.length) throw new Error(`Sealing ${entries.length} entries numbered ${numbered}`);
}
