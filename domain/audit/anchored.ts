import type { SqlEntityManager } from '@mikro-orm/postgresql';
import type { Databases } from '../../db/databases.ts';
import { sweep } from '../../db/transaction.ts';
import type { AuditFault } from '../../db/audit/check-seal.ts';
import { buriedOrganizations } from '../../db/audit/proofs.ts';
import type { AuditKeys } from '../../db/audit/seal.ts';
import { auditHeads, lockAnchor, newestSealNo, unlike, type AnchoredSeal, type ChainHead, type Unlike } from '../../db/audit/anchored.ts';
import { setMark } from '../../db/http/system-marks.ts';

/** Key in `system_marks` of the time when heads were last anchored. */
export const anchorMark = 'audit_anchor';

const linesAtOnce = 500;

/**
 * Returns the heads of all chains, which this process alone may write outside of the database until the transaction ends; records that they were anchored. Uses
 * the sweeper's pool.
 */
export async function takeHeads(em: SqlEntityManager): Promise<ChainHead[]> {
  await lockAnchor(em);
  const heads = await auditHeads(em);
  // Without any seal the file stays empty: the mark would make that look like a loss.
  if (heads.length > 0) await setMark(em, anchorMark, { chains: heads.length });
  return heads;
}

/**
 * Compares the chains with anchored seals, and reports seals that are missing or different. Checks all of them, since a later anchor of a forged chain would
 * conceal an earlier one. A chain that was purged with its organization is not missed.
 */
export async function checkAnchored(db: Databases, keys: AuditKeys, anchored: AsyncIterable<AnchoredSeal>): Promise<AuditFault[]> {
  const differing = new Map<string, Difference>();
  let batch: AnchoredSeal[] = [];
  const compare = async () => {
    for (const seal of await sweep(db, (em) => unlike(em, batch))) note(differing, seal);
    batch = [];
  };
  for await (const seal of anchored) if (batch.push(seal) === linesAtOnce) await compare();
  await compare();
  if (differing.size === 0) return [];

  return sweep(db, async (em) => {
    const buried = await buriedOrganizations(em, keys);
    const faults: AuditFault[] = [];
    for (const [chain, difference] of differing) if (!buried.has(chain)) faults.push(...(await faultsOf(em, chain, difference)));
    return faults;
  });
}

/** Differences of a chain: the last missing seal, and the first different one. */
interface Difference {
  readonly missing: Unlike | null;
  readonly other: Unlike | null;
}

function note(differing: Map<string, Difference>, seal: Unlike): void {
  const { missing, other } = differing.get(seal.chain) ?? { missing: null, other: null };
  const isLater = seal.sealNo > (missing?.sealNo ?? 0);
  const isEarlier = seal.sealNo < (other?.sealNo ?? Infinity);
  differing.set(seal.chain, {
    missing: seal.isMissing && isLater ? seal : missing,
    other: !seal.isMissing && isEarlier ? seal : other,
  });
}

async function faultsOf(em: SqlEntityManager, chain: string, { missing, other }: Difference): Promise<AuditFault[]> {
  const newest = await newestSealNo(em, chain);
  const fault = (kind: AuditFault['kind'], sealNo: number, message: string): AuditFault => ({
    chain,
    kind,
    sealNo,
    seq: null,
    entryId: null,
    message,
  });
  const faults: AuditFault[] = [];

  if (missing && newest === null)
    faults.push(fault('missing', missing.sealNo, `the whole chain is missing; this seal was its newest at ${missing.at}`));
  else if (missing && newest !== null && newest < missing.sealNo)
    faults.push(
      fault(
        'missing',
        missing.sealNo,
        `it was the newest at ${missing.at}, but seal ${newest} is now: the end of the chain was removed, or the database is an older one`,
      ),
    );
  else if (missing) faults.push(fault('missing', missing.sealNo, `it was anchored at ${missing.at} and is missing`));
  if (other)
    faults.push(
      fault('changed', other.sealNo, `it is not the seal that was anchored at ${other.at}: the chain was rebuilt from here or earlier`),
    );
  return faults;
}
