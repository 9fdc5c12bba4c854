import type { SqlEntityManager } from '@mikro-orm/postgresql';
import type { Databases } from '../databases.ts';
import { change, rows } from '../sql.ts';
import { sweep } from '../transaction.ts';
import { inChain, organizationOfChain } from './chain.ts';
import {
  brokenSeal,
  checkEntries,
  countOf,
  isSame,
  sealColumns,
  type AuditFault,
  type Checking,
  type Report,
  type Seal,
} from './check-seal.ts';
import { checkPurged, provenPurges } from './proofs.ts';
import type { AuditKeys } from './seal.ts';

export type { AuditFault } from './check-seal.ts';

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

const sealsAPage = 100;
const maxFaults = 1_000;

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
      if (faults.length <= maxFaults) faults.push({ chain, ...fault });
    };
    const counted = await checkSeals(em, { chain, auditKeys, report });
    // An entry under another seal's number has been told of as changed.
    await findStrays(em, { chain, report, known: new Set(faults.map(({ entryId }) => entryId)) });

    return { chain, ...counted, faults: faults.slice(0, maxFaults), isCut: faults.length > maxFaults };
  });
}

async function checkSeals(em: SqlEntityManager, checking: Checking) {
  const purges = await provenPurges(em, checking);
  let previous: Seal | null = null;
  let entries = 0;

  for (;;) {
    const page: Seal[] = await readSeals(em, checking.chain, previous?.seal_no ?? null);
    for (const seal of page) {
      checkLink(checking, seal, previous);
      if (seal.purged_at !== null) checkPurged(checking, { seal, previous, purges });
      previous = seal;
    }
    const kept = page.filter((seal) => seal.purged_at === null);
    for await (const checked of checkEntries(em, checking, kept)) entries += checked.entries.length;
    if (page.length < sealsAPage) return { seals: previous?.seal_no ?? 0, entries, head: previous?.mac.toString('hex') ?? null };
  }
}

async function readSeals(em: SqlEntityManager, chain: string, after: number | null): Promise<Seal[]> {
  return rows<Seal>(
    em,
    `select ${sealColumns} from audit_seals where chain = ? and seal_no > ?::bigint order by seal_no limit ${sealsAPage}`,
    [chain, after ?? 0],
  );
}

/** Each seal carries the number and the MAC of the one before it. */
function checkLink(checking: Checking, seal: Seal, previous: Seal | null): void {
  const broken = (message: string) => brokenSeal(checking, seal, message);

  if (seal.seal_no !== (previous?.seal_no ?? 0) + 1) broken(`the seals between ${previous?.seal_no ?? 0} and ${seal.seal_no} are missing`);
  else if (!isSame(seal.previous_mac, previous?.mac ?? null)) broken('it does not continue the seal before it');
  if (previous && seal.first_seq !== previous.last_seq + 1) broken('its numbers do not continue those of the seal before it');
  if (countOf(seal) !== seal.entries) broken('its numbers and its count of entries differ');
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
     order by e.seq, e.id limit ${maxFaults + 1}`,
    [...own.params, chain],
  );
  for (const { id, seq, seal_no: sealNo } of strays.filter((stray) => !known.has(stray.id)))
    report({ kind: 'added', sealNo, seq, entryId: id, message: 'the entry carries a number and belongs to no seal' });
}
