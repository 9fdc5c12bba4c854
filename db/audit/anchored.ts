import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { row, rows } from '../sql.ts';

/** The newest seal of a chain. */
export interface ChainHead {
  readonly chain: string;
  readonly seal_no: number;
  /** Hexadecimal. */
  readonly mac: string;
  readonly entries: number;
}

/** A seal that was the newest of its chain, as recorded outside the database. */
export interface AnchoredSeal {
  readonly at: string;
  readonly chain: string;
  readonly seal_no: number;
  readonly mac: string;
}

/** Returns the heads of all chains, with one index look-up for each. Sweeper's pool. */
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

/** Serializes writes to the anchor file across processes, until the end of the transaction. */
export async function lockAnchor(em: SqlEntityManager): Promise<void> {
  await row(em, "select pg_advisory_xact_lock(hashtextextended('audit anchor', 0))");
}

/** An anchored seal that differs from what was anchored. */
export interface Unlike extends AnchoredSeal {
  readonly is_missing: boolean;
}

/** Returns the number of a chain's newest seal, or null when it has none. */
export async function newestSealNo(em: SqlEntityManager, chain: string): Promise<number | null> {
  const head = await row<{ seal_no: number | null }>(em, 'select max(seal_no) as seal_no from audit_seals where chain = ?', [chain]);
  return head?.seal_no ?? null;
}

/** Returns those of the anchored seals that are missing or differ now. */
export function unlike(em: SqlEntityManager, seals: readonly AnchoredSeal[]): Promise<Unlike[]> {
  return rows<Unlike>(
    em,
    `select a.at, a.chain, a.seal_no, a.mac, s.mac is null as is_missing
       from unnest(?::text[], ?::text[], ?::bigint[], ?::text[]) as a (at, chain, seal_no, mac)
       left join audit_seals s on s.chain = a.chain and s.seal_no = a.seal_no
      where s.mac is distinct from decode(a.mac, 'hex')`,
    [seals.map(({ at }) => at), seals.map(({ chain }) => chain), seals.map((seal) => seal.seal_no), seals.map(({ mac }) => mac)],
  );
}
