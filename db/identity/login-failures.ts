import { newId } from '../ids.ts';
import { change } from '../sql.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import type { Person } from './people.ts';

/** Why somebody was not let in. */
export type LoginFailureReason = 'unknown_account' | 'wrong_password' | 'inactive' | 'wrong_code';

/** Who was not let in, and why. */
export interface LoginFailure {
  readonly accountHash: Buffer;
  /** Null for an unknown account. */
  readonly person: Pick<Person, 'id' | 'organizationId'> | null;
  readonly networkAddress: string;
  readonly reason: LoginFailureReason;
}

/** Notes a refused sign-in or verification; it never enters the audit log. */
export async function recordLoginFailure(tx: TenantTransaction, failure: LoginFailure): Promise<void> {
  await change(
    tx.em,
    'insert into login_failures (id, at, account_hash, user_id, organization_id, ip_truncated, reason) values (?::uuid, now(), ?, ?::uuid, ?::uuid, ?, ?)',
    [
      newId(),
      failure.accountHash,
      failure.person?.id ?? null,
      failure.person?.organizationId ?? null,
      failure.networkAddress,
      failure.reason,
    ],
  );
}
