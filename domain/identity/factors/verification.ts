import { countTry, type CountedTry } from '../../../db/identity/factors/challenges.ts';
import { spendStep, type FactorScope, type StoredFactor } from '../../../db/identity/factors/factors.ts';
import type { KeyRing } from '../../../db/key-ring.ts';
import type { Person } from '../../../db/identity/people/people.ts';
import { openVerifiedSession, type IssuedRefresh, type SessionDevice } from '../../../db/identity/sessions/sessions.ts';
import { stepOfTotp } from '../../../db/identity/factors/totp.ts';
import { markVerified } from '../../../db/identity/sessions/sessions.ts';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import { fail } from '../../../workflows/contracts/failure.ts';
import { decryptFactor, readFactor } from './factors.ts';
import { notify } from '../people/notices.ts';
import { useRecoveryCode } from './recovery-codes.ts';
import { lifetimeOf } from '../sessions/sessions.ts';

/** The user whose code is checked. */
interface Account extends FactorScope {
  readonly workspaceId: string | null;
}

/** A code that a user enters, and when. */
interface ShownCode {
  readonly account: Account;
  readonly method: 'totp' | 'recovery_code' | 'password';
  readonly code: string;
  readonly now: Date;
}

/**
 * Counts a try at a challenge; it has to be committed before its code is checked, so that concurrent tries can't exceed the limit. Returns null when the
 * challenge is dead.
 */
export function countChallengeTry(
  tx: TenantTransaction,
  tried: { readonly challengeId: string; readonly userId: string },
): Promise<CountedTry | null> {
  return countTry(tx, tried);
}

/** Returns whether a code is right for a counted try, and uses it up. */
export async function spendCodeOfTry(
  tx: TenantTransaction,
  keys: KeyRing,
  shown: ShownCode & Pick<CountedTry, 'encryptedFactor'>,
): Promise<boolean> {
  const encrypted = shown.method === 'recovery_code' ? null : shown.encryptedFactor;
  const factor = encrypted && { encrypted, secret: await decryptFactor(tx, keys, { ...shown.account, encrypted }) };
  return spendCode(tx, keys, { ...shown, factor });
}

/** The same for a step-up, which reads the factor first. */
export async function spendCodeNow(tx: TenantTransaction, keys: KeyRing, shown: ShownCode): Promise<boolean> {
  const factor = shown.method === 'recovery_code' ? null : await readFactor(tx, keys, shown.account);
  return spendCode(tx, keys, { ...shown, factor: factor?.isConfirmed ? factor : null });
}

/** Uses up a login challenge and opens its session. Throws `mfa_code_invalid` when it is dead: used, expired, or ended by a change of password. */
export async function completeChallenge(
  tx: TenantTransaction,
  {
    person,
    challengeId,
    device,
    method,
    lifetime,
  }: {
    readonly person: Pick<Person, 'id'>;
    readonly challengeId: string;
    readonly device: SessionDevice;
    readonly method: ShownCode['method'];
    /** As the organization's settings say. */
    readonly lifetime: { readonly idleDays: number | null; readonly absoluteDays: number | null };
  },
): Promise<IssuedRefresh> {
  const mfaLevel = method === 'recovery_code' ? 'recovery_code' : 'totp';
  const opened = await openVerifiedSession(tx, { person, challengeId, device, mfaLevel, lifetime: lifetimeOf(lifetime) });

  if (!opened) throw fail('mfa_code_invalid');
  return opened;
}

/** Marks a live session as fresh: its user has just been verified. Throws 401 when it has ended meanwhile. */
export async function freshenSession(
  tx: TenantTransaction,
  { sessionId, method }: { readonly sessionId: string; readonly method: ShownCode['method'] },
): Promise<void> {
  if (!(await markVerified(tx, { sessionId, mfaLevel: method === 'password' ? 'none' : method }))) throw fail('session_revoked');
}

/** Uses up a code: a recovery code, or the time step of the factor's code. */
async function spendCode(
  tx: TenantTransaction,
  keys: KeyRing,
  { account, method, code, now, factor }: ShownCode & { readonly factor: Pick<StoredFactor, 'secret' | 'encrypted'> | null },
): Promise<boolean> {
  const { userId } = account;
  if (method !== 'recovery_code') {
    const step = factor && stepOfTotp(factor.secret, code, now);
    return factor !== null && step !== null && spendStep(tx, { userId, encrypted: factor.encrypted, step });
  }
  const used = await useRecoveryCode(tx, keys, { userId, code });
  if (used?.left === 0) await notify(tx, keys, { template: 'recovery_codes_used_up', ...account });
  return used !== null;
}
