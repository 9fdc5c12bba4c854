import type { SqlEntityManager } from '@mikro-orm/postgresql';
import type { Databases } from '../databases.ts';
import { row, rows } from '../sql.ts';
import { sweep } from '../transaction.ts';
import type { AuditFault } from './check-seal.ts';
import { buriedOrganizations } from './proofs.ts';
import type { AuditKeys } from './seal.ts';

/** The newest seal of a chain. */
export interface ChainHead {
  readonly chain: string;
  readonly seal_no: number;
  /** Hexadecimal. */
  readonly mac: string;
  readonly entries: number;
}

/** A seal that was the newest of its chain, by what stands outside the database. */
export interface AnchoredSeal {
  readonly at: string;
  readonly chain: string;
  readonly seal_no: number;
  readonly mac: string;
}

/** The mark in `system_marks` that says when heads were anchored last. */
export const anchorMark = 'audit_anchor';

const linesAtOnce = 500;

/** The heads of all chains, by one look into the index for each. Sweeper's pool. */
export function auditHeads(em: SqlEntityManager): Promise<ChainHead[]> {
  return rows<ChainHead>(
    em,
    `with recursive chains as (
       (select chain from audit_seals order by chain limit 1)
       union all
       select (select s.chain from audit_seals s where s.chain > c.chain order by s.chain limit 1) from chains c where c.chain is not null
     )
     select c.chain, s.seal_no, encode(s.mac, 'hex') as mac, s.last_seq as entries
       from chains c cross join lateral (select * from audit_seals a where a.chain = c.chain order by a.seal_no desc limit 1) s
      where c.chain ~ '^(platform|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$' order by 1`,
  );
}

/** One at a time writes to the anchor file, in whatever process: to the transaction's end. */
export async function lockAnchor(em: SqlEntityManager): Promise<void> {
  await row(em, "select pg_advisory_xact_lock(hashtextextended('audit anchor', 0))");
}

/**
 * Holds the chains against seals that were anchored, and names what is gone or is another one now. All of them are asked for, since a later one of a forged
 * chain would cover for an earlier one. A chain that went with its organization is not missed.
 */
export async function checkAnchored(db: Databases, keys: AuditKeys, anchored: AsyncIterable<AnchoredSeal>): Promise<AuditFault[]> {
  const differing = new Map<string, Difference>();
  let batch: AnchoredSeal[] = [];
  const look = async () => {
    for (const seal of await sweep(db, (em) => unlike(em, batch))) note(differing, seal);
    batch = [];
  };
  for await (const seal of anchored) if (batch.push(seal) === linesAtOnce) await look();
  await look();
  if (differing.size === 0) return [];

  return sweep(db, async (em) => {
    const buried = await buriedOrganizations(em, keys);
    const faults: AuditFault[] = [];
    for (const [chain, difference] of differing) if (!buried.has(chain)) faults.push(...(await faultsOf(em, chain, difference)));
    return faults;
  });
}

interface Unlike extends AnchoredSeal {
  readonly is_missing: boolean;
}

/** Of a chain: the last seal that is missing, and the first that is another one. */
interface Difference {
  readonly missing: Unlike | null;
  readonly other: Unlike | null;
}

function note(differing: Map<string, Difference>, seal: Unlike): void {
  const { missing, other } = differing.get(seal.chain) ?? { missing: null, other: null };
  const isLater = seal.seal_no > (missing?.seal_no ?? 0);
  const isEarlier = seal.seal_no < (other?.seal_no ?? Infinity);
  differing.set(seal.chain, {
    missing: seal.is_missing && isLater ? seal : missing,
    other: !seal.is_missing && isEarlier ? seal : other,
  });
}

function unlike(em: SqlEntityManager, seals: readonly AnchoredSeal[]): Promise<Unlike[]> {
  return rows<Unlike>(
    em,
    `select a.at, a.chain, a.seal_no, a.mac, s.mac is null as is_missing
       from unnest(?::text[], ?::text[], ?::bigint[], ?::text[]) as a (at, chain, seal_no, mac)
       left join audit_seals s on s.chain = a.chain and s.seal_no = a.seal_no
      where s.mac is distinct from decode(a.mac, 'hex')`,
    [seals.map(({ at }) => at), seals.map(({ chain }) => chain), seals.map((seal) => seal.seal_no), seals.map(({ mac }) => mac)],
  );
}

async function faultsOf(em: SqlEntityManager, chain: string, { missing, other }: Difference): Promise<AuditFault[]> {
  const head = await row<{ seal_no: number | null }>(em, 'select max(seal_no) as seal_no from audit_seals where chain = ?', [chain]);
  const newest = head?.seal_no ?? null;
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
    faults.push(fault('missing', missing.seal_no, `the whole chain is gone; this seal was its newest at ${missing.at}`));
  else if (missing && newest !== null && newest < missing.seal_no)
    faults.push(
      fault(
        'missing',
        missing.seal_no,
        `it was the newest at ${missing.at}, now seal ${newest} is: the end was cut off, or the database is an older one`,
      ),
    );
  else if (missing) faults.push(fault('missing', missing.seal_no, `it was anchored at ${missing.at} and is gone`));
  if (other)
    faults.push(
      fault('changed', other.seal_no, `it is not the seal that was anchored at ${other.at}: the chain was made anew from here or before`),
    );
  return faults;
}
