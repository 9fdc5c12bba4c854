import type { SqlEntityManager } from '@mikro-orm/postgresql';
import { change, row, rows } from '../sql.ts';
import { chainOf } from './chain.ts';
import { sealColumns, type Seal } from './check-seal.ts';
import { fewestDays } from './proofs.ts';

/** Returns the organizations whose oldest unpurged seal is past its days. */
export async function organizationsPastRetention(em: SqlEntityManager): Promise<string[]> {
  const found = await rows<{ id: string }>(
    em,
    `select s.organization_id as id from organization_settings s
     where (select a.created_at from audit_seals a where a.chain = s.organization_id::text and a.purged_at is null order by a.seal_no limit 1)
       < now() - make_interval(days => s.audit_retention_days)
     order by 1`,
  );
  return found.map(({ id }) => id);
}

/** Seals that retention may purge; null numbers: none. */
export interface DueSeals {
  readonly seals: number;
  readonly from_seal: number | null;
  readonly through_seal: number | null;
  readonly through_seq: number | null;
  readonly days: number | null;
}

/** Deletes the entries of a chain up to and including a number, and marks their seals as purged; returns the number of entries. */
export async function takeSeals(
  em: SqlEntityManager,
  organizationId: string,
  { throughSeal, throughSeq }: { readonly throughSeal: number; readonly throughSeq: number | null },
): Promise<number> {
  const entries = await change(em, 'delete from audit_entries where organization_id = ?::uuid and seq <= ?::bigint', [
    organizationId,
    throughSeq,
  ]);
  await change(
    em,
    "update audit_seals set purged_at = now(), entry_macs = '' where chain = ? and purged_at is null and seal_no <= ?::bigint",
    [chainOf(organizationId), throughSeal],
  );
  return entries;
}

/**
 * Returns the oldest seals of a chain that are past their days, at most `maxSeals` and until they hold `maxEntries`, and the retention in days that applies.
 */
export async function dueSeals(
  em: SqlEntityManager,
  organizationId: string,
  { maxSeals, maxEntries }: { readonly maxSeals: number; readonly maxEntries: number },
): Promise<DueSeals | null> {
  return row<DueSeals>(
    em,
    `with oldest as (
       select seal_no, last_seq, created_at, sum(entries) over (order by seal_no) - entries as before
       from audit_seals where chain = ? and purged_at is null order by seal_no limit ?),
     kept as (
       select greatest(s.audit_retention_days, ${fewestDays}) as days,
              min(o.seal_no) filter (where o.created_at >= now() - make_interval(days => greatest(s.audit_retention_days, ${fewestDays}))) as seal_no
       from organization_settings s, oldest o where s.organization_id = ?::uuid group by s.organization_id)
     select count(*) as seals, min(o.seal_no) as from_seal, max(o.seal_no) as through_seal, max(o.last_seq) as through_seq, max(k.days) as days
     from oldest o, kept k where o.before < ? and (k.seal_no is null or o.seal_no < k.seal_no)`,
    [chainOf(organizationId), maxSeals, organizationId, maxEntries],
  );
}

/** Returns the seals of a chain from one number through another, in order. */
export function sealsBetween(
  em: SqlEntityManager,
  chain: string,
  { fromSeal, throughSeal }: { readonly fromSeal: number; readonly throughSeal: number },
): Promise<Seal[]> {
  return rows<Seal>(
    em,
    `select ${sealColumns} from audit_seals where chain = ? and seal_no between ?::bigint and ?::bigint order by seal_no`,
    [chain, fromSeal, throughSeal],
  );
}
