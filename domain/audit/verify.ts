import type { SqlEntityManager } from '@mikro-orm/postgresql';
import type { Databases } from '../../db/databases.ts';
import { sweep } from '../../db/transaction.ts';
import {
  brokenSeal,
  checkEntries,
  countOf,
  isSame,
  type AuditFault,
  type Checking,
  type Report,
  type Seal,
} from '../../db/audit/check-seal.ts';
import { checkPurged, provenPurges } from '../../db/audit/proofs.ts';
import type { AuditKeys } from '../../db/audit/seal.ts';
import { openSnapshot, readSeals, readStrays } from '../../db/audit/verify.ts';

/** The verified state of one chain. `head` is the MAC of its newest seal: stored elsewhere, it also proves that no seal was cut off the end. */
export interface VerifiedChain {
  readonly chain: string;
  readonly seals: number;
  readonly entries: number;
  readonly head: string | null;
  readonly faults: readonly AuditFault[];
  /** There are more faults than these. */
  readonly isTruncated: boolean;
}

const sealsAPage = 100;
const maxFaults = 1_000;

/** Compares one chain with its seals, in one snapshot, so that concurrent sealing and retention are no faults. */
export async function verifyChain(db: Databases, { auditKeys }: AuditKeys, chain: string): Promise<VerifiedChain> {
  return sweep(db, async (em) => {
    await openSnapshot(em);
    const faults: AuditFault[] = [];
    const report: Report = (fault) => {
      if (faults.length <= maxFaults) faults.push({ chain, ...fault });
    };
    const counted = await checkSeals(em, { chain, auditKeys, report });
    // An entry under another seal's number has already been reported as changed.
    await findStrays(em, { chain, report, known: new Set(faults.map(({ entryId }) => entryId)) });

    return { chain, ...counted, faults: faults.slice(0, maxFaults), isTruncated: faults.length > maxFaults };
  });
}

async function checkSeals(em: SqlEntityManager, checking: Checking) {
  const purges = await provenPurges(em, checking);
  let previous: Seal | null = null;
  let entries = 0;

  for (;;) {
    const page: Seal[] = await readSeals(em, checking.chain, { after: previous?.sealNo ?? null, limit: sealsAPage });
    for (const seal of page) {
      checkLink(checking, seal, previous);
      if (seal.purgedAt !== null) checkPurged(checking, { seal, previous, purges });
      previous = seal;
    }
    const kept = page.filter((seal) => seal.purgedAt === null);
    for await (const checked of checkEntries(em, checking, kept)) entries += checked.entries.length;
    if (page.length < sealsAPage) return { seals: previous?.sealNo ?? 0, entries, head: previous?.mac.toString('hex') ?? null };
  }
}

/** Each seal carries the number and the MAC of the one before it. */
function checkLink(checking: Checking, seal: Seal, previous: Seal | null): void {
  const broken = (message: string) => brokenSeal(checking, seal, message);

  if (seal.sealNo !== (previous?.sealNo ?? 0) + 1) broken(`the seals between ${previous?.sealNo ?? 0} and ${seal.sealNo} are missing`);
  else if (!isSame(seal.previousMac, previous?.mac ?? null)) broken('it does not continue the preceding seal');
  if (previous && seal.firstSeq !== previous.lastSeq + 1) broken('its numbers do not continue those of the preceding seal');
  if (countOf(seal) !== seal.entries) broken('its numbers do not match its count of entries');
}

/** Reports entries that belong to no seal. */
async function findStrays(
  em: SqlEntityManager,
  search: { chain: string; known: ReadonlySet<string | null>; report: Report },
): Promise<void> {
  const { chain, known, report } = search;
  const strays = await readStrays(em, chain, maxFaults + 1);
  for (const { id, seq, sealNo } of strays.filter((stray) => !known.has(stray.id)))
    report({ kind: 'added', sealNo, seq, entryId: id, message: 'the entry has a number but belongs to no seal' });
}
