import type { SqlEntityManager } from '@mikro-orm/postgresql';
import type { NamedKey } from '../identity/key-ring.ts';
import type { Databases } from '../orm.ts';
import { change, rows } from '../sql.ts';
import { sweep } from '../transaction.ts';
import { inChain, organizationOfChain } from './chain.ts';
import { entryForm, entryMac, entryMacBytes, sealedColumns, sealMac, type SealedEntry } from './entry-form.ts';
import { latestPurge } from './purge-entry.ts';
import type { AuditKeys } from './seal.ts';

/** Something in the log that is not as it was sealed. */
export interface AuditFault {
  readonly chain: string;
  /** `broken`: the seals themselves don't follow each other. */
  readonly kind: 'changed' | 'missing' | 'added' | 'broken';
  readonly sealNo: number | null;
  readonly seq: number | null;
  readonly entryId: string | null;
  readonly message: string;
}

/** One chain as it was found. `head` is the MAC of its newest seal: kept elsewhere, it also proves that no seal was cut off the end. */
export interface VerifiedChain {
  readonly chain: string;
  readonly seals: number;
  readonly entries: number;
  readonly head: string | null;
  readonly faults: readonly AuditFault[];
  /** There are more faults than these. */
  readonly isCut: boolean;
}

interface Seal {
  readonly seal_no: number;
  readonly first_seq: number;
  readonly last_seq: number;
  readonly entries: number;
  readonly mac: Buffer;
  readonly previous_mac: Buffer | null;
  readonly entry_macs: Buffer;
  readonly key_id: string;
  readonly purged_at: string | null;
}

type Report = (fault: Omit<AuditFault, 'chain'>) => void;

const sealsAPage = 100;
const mostFaults = 1_000;

/** Names of all chains that have seals or sealed entries. Sweeper's pool. */
export async function auditChains(em: SqlEntityManager): Promise<string[]> {
  const found = await rows<{ chain: string }>(
    em,
    `select chain from audit_seals union select coalesce(organization_id::text, 'platform') from audit_entries where seq is not null order by 1`,
  );
  return found.map(({ chain }) => chain);
}

/** Holds one chain against its seals, in one snapshot, so that sealing and retention beside it are no faults. */
export async function verifyChain(db: Databases, { auditKeys }: AuditKeys, chain: string): Promise<VerifiedChain> {
  return sweep(db, async (em) => {
    await change(em, 'set transaction isolation level repeatable read, read only');
    const faults: AuditFault[] = [];
    const report: Report = (fault) => {
      if (faults.length <= mostFaults) faults.push({ chain, ...fault });
    };
    const counted = await checkSeals(em, { chain, auditKeys, report });
    // An entry under another seal's number has been told of as changed.
    await findStrays(em, { chain, report, known: new Set(faults.map(({ entryId }) => entryId)) });

    return { chain, ...counted, faults: faults.slice(0, mostFaults), isCut: faults.length > mostFaults };
  });
}

interface Checking extends AuditKeys {
  readonly chain: string;
  readonly report: Report;
}

async function checkSeals(em: SqlEntityManager, checking: Checking) {
  const purgedTo = await latestPurge(em, organizationOfChain(checking.chain));
  let previous: Seal | null = null;
  let entries = 0;

  for (;;) {
    const page: Seal[] = await readSeals(em, checking.chain, previous?.seal_no ?? null);
    for (const seal of page) {
      checkLink(checking, seal, previous);
      if (seal.purged_at !== null) checkPurged(checking, { seal, previous, purgedTo });
      previous = seal;
    }
    entries += await checkEntries(em, checking, page);
    if (page.length < sealsAPage) return { seals: previous?.seal_no ?? 0, entries, head: previous?.mac.toString('hex') ?? null };
  }
}

async function readSeals(em: SqlEntityManager, chain: string, after: number | null): Promise<Seal[]> {
  return rows<Seal>(
    em,
    `select seal_no, first_seq, last_seq, entries, mac, previous_mac, entry_macs, key_id, purged_at
     from audit_seals where chain = ? and seal_no > ?::bigint order by seal_no limit ${sealsAPage}`,
    [chain, after ?? 0],
  );
}

/** Each seal carries the number and the MAC of the one before it. */
function checkLink({ report }: Checking, seal: Seal, previous: Seal | null): void {
  const broken = (message: string) => report({ kind: 'broken', sealNo: seal.seal_no, seq: null, entryId: null, message });

  if (seal.seal_no !== (previous?.seal_no ?? 0) + 1) broken(`the seals between ${previous?.seal_no ?? 0} and ${seal.seal_no} are missing`);
  else if (!isSame(seal.previous_mac, previous?.mac ?? null)) broken('it does not continue the seal before it');
  if (previous && seal.first_seq !== previous.last_seq + 1) broken('its numbers do not continue those of the seal before it');
  if (seal.last_seq - seal.first_seq + 1 !== seal.entries) broken('its numbers and its count of entries differ');
}

/** Entries go by whole seals from the oldest on, and a `purge` entry of the same chain says how far. */
function checkPurged({ report }: Checking, found: { seal: Seal; previous: Seal | null; purgedTo: number }): void {
  const { seal, previous, purgedTo } = found;
  const broken = (message: string) => report({ kind: 'broken', sealNo: seal.seal_no, seq: null, entryId: null, message });

  if (previous && previous.purged_at === null) broken('its entries are purged, those of the seal before it are not');
  else if (seal.seal_no > purgedTo) broken('its entries are gone as if purged, but no purge entry says so');
}

/** Reads the entries of a page of seals, some thousand at a time, and holds each seal against its own. Gives how many there are. */
async function checkEntries(em: SqlEntityManager, checking: Checking, page: readonly Seal[]): Promise<number> {
  let count = 0;
  for (const run of runsOf(page.filter((seal) => seal.purged_at === null))) {
    const found = await readEntries(em, checking.chain, run);
    count += found.size;
    for (const seal of run) checkSeal(checking, seal, found);
  }
  return count;
}

/** Neighbours together, so that many small seals are one question. */
function runsOf(seals: readonly Seal[]): Seal[][] {
  const runs: Seal[][] = [];
  let room = 0;
  for (const seal of seals) {
    const run = runs.at(-1);
    if (run && seal.entries <= room) run.push(seal);
    else {
      runs.push([seal]);
      room = 5_000;
    }
    room -= seal.entries;
  }
  return runs;
}

async function readEntries(em: SqlEntityManager, chain: string, run: readonly Seal[]): Promise<Map<number, SealedEntry>> {
  const own = inChain(organizationOfChain(chain));
  const found = await rows<SealedEntry>(
    em,
    `select ${sealedColumns} from audit_entries where ${own.sql} and seq between ?::bigint and ?::bigint`,
    [...own.params, run[0]?.first_seq ?? 0, run.at(-1)?.last_seq ?? 0],
  );
  return new Map(found.map((entry) => [entry.seq, entry]));
}

function checkSeal({ auditKeys, report }: Checking, seal: Seal, found: ReadonlyMap<number, SealedEntry>): void {
  const key = auditKeys.find(({ id }) => id === seal.key_id);
  const broken = (message: string) => report({ kind: 'broken', sealNo: seal.seal_no, seq: null, entryId: null, message });
  if (!key) return broken(`LONGHAUL_AUDIT_KEYS lacks the key ${seal.key_id}, under which it was made`);
  if (seal.entry_macs.length !== seal.entries * entryMacBytes) return broken('its list of entries was changed');

  const { forms, isWhole } = checkEach({ key, seal, found, report });
  const isTrue = isSame(sealMac(key.secret, seal.previous_mac, forms), seal.mac);
  // With entries missing or changed the seal can't fit; it is told only when nothing else explains it.
  if (isWhole && !isTrue) broken('it was changed itself');
  if (!isWhole && isTrue) broken('its list of entries was changed');
}

function checkEach(one: { key: NamedKey; seal: Seal; found: ReadonlyMap<number, SealedEntry>; report: Report }) {
  const { key, seal, found, report } = one;
  const forms: Buffer[] = [];
  let isWhole = true;

  for (let seq = seal.first_seq; seq <= seal.last_seq; seq++) {
    const entry = found.get(seq);
    const at = (seq - seal.first_seq) * entryMacBytes;
    const form = entry ? entryForm(entry) : null;
    if (form) forms.push(form);
    if (form && isSame(entryMac(key.secret, form), seal.entry_macs.subarray(at, at + entryMacBytes))) continue;

    isWhole = false;
    const place = { sealNo: seal.seal_no, seq, entryId: entry?.id ?? null };
    if (entry) report({ ...place, kind: 'changed', message: 'the entry is not the one that was sealed' });
    else report({ ...place, kind: 'missing', message: 'the entry is gone' });
  }
  return { forms, isWhole };
}

/** Entries that carry a number or a seal and belong to none. */
async function findStrays(
  em: SqlEntityManager,
  search: { chain: string; known: ReadonlySet<string | null>; report: Report },
): Promise<void> {
  const { chain, known, report } = search;
  const own = inChain(organizationOfChain(chain), 'e');
  const strays = await rows<{ id: string; seq: number | null; seal_no: number | null }>(
    em,
    `select e.id, e.seq, e.seal_no from audit_entries e
     where ${own.sql} and (e.seq is not null or e.seal_no is not null) and not exists (
       select from audit_seals s where s.chain = ? and s.seal_no = e.seal_no and s.purged_at is null and e.seq between s.first_seq and s.last_seq)
     order by e.seq, e.id limit ${mostFaults + 1}`,
    [...own.params, chain],
  );
  for (const { id, seq, seal_no: sealNo } of strays.filter((stray) => !known.has(stray.id)))
    report({ kind: 'added', sealNo, seq, entryId: id, message: 'the entry carries a number and belongs to no seal' });
}

function isSame(left: Buffer | null, right: Buffer | null): boolean {
  return left === null || right === null ? left === right : left.equals(right);
}
