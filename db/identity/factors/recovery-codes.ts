import { iso, row } from '../../sql.ts';
import type { TenantTransaction } from '../../tenant-transaction.ts';

/** Replaces the recovery codes of a user; returns the time of the new ones. */
export async function replaceCodes(
  tx: TenantTransaction,
  {
    userId,
    organizationId,
    hashes,
  }: { readonly userId: string; readonly organizationId: string | null; readonly hashes: readonly Buffer[] },
): Promise<string> {
  const made = await row<{ created_at: string }>(
    tx.em,
    `with older as (delete from recovery_codes where user_id = ?::uuid)
     insert into recovery_codes (user_id, code_hash, organization_id, created_at)
     select ?::uuid, hash, ?::uuid, now() from unnest(?::bytea[]) as hash returning created_at`,
    [userId, userId, organizationId, hashes],
  );

  if (!made) throw new Error('no recovery codes were made');
  return iso(made.created_at);
}

/** Uses up the code that matches one of the digests. Returns how many are left, or null when none matches. */
export function useCode(tx: TenantTransaction, userId: string, hashes: readonly Buffer[]): Promise<{ readonly left: number } | null> {
  return row<{ left: number }>(
    tx.em,
    `update recovery_codes r set used_at = now() where r.user_id = ?::uuid and r.code_hash = any(?::bytea[]) and r.used_at is null
     returning (select count(*)::int from recovery_codes o where o.user_id = r.user_id and o.used_at is null and o.code_hash <> r.code_hash) as left`,
    [userId, hashes],
  );
}
