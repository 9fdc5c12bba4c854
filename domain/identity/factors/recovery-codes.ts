import { createHmac, randomBytes } from 'node:crypto';
import type { TenantTransaction } from '../../../db/tenant-transaction.ts';
import type { KeyRing, NamedKey } from '../../../db/key-ring.ts';
import { replaceCodes, useCode } from '../../../db/identity/factors/recovery-codes.ts';

type Peppers = Pick<KeyRing, 'peppers'>;

const codeCount = 10;
const codeBytes = 10;
const base32 = 'abcdefghijklmnopqrstuvwxyz234567';

/** Codes in plain text, shown once. */
export interface NewRecoveryCodes {
  readonly codes: readonly string[];
  readonly createdAt: string;
}

/** Generates ten codes of a user, and the hashes to be stored. */
export function inventRecoveryCodes(
  { peppers }: Peppers,
  userId: string,
): { readonly codes: readonly string[]; readonly hashes: Buffer[] } {
  const codes = Array.from({ length: codeCount }, newCode);

  return { codes, hashes: codes.map((code) => hashOf(peppers[0], userId, bareCode(code))) };
}

/** Replaces the recovery codes, which makes the old ones invalid. */
export async function replaceRecoveryCodes(
  tx: TenantTransaction,
  keys: Peppers,
  { userId, organizationId }: { readonly userId: string; readonly organizationId: string | null },
): Promise<NewRecoveryCodes> {
  const { codes, hashes } = inventRecoveryCodes(keys, userId);

  return { codes, createdAt: await replaceCodes(tx, { userId, organizationId, hashes }) };
}

/** Uses up a recovery code by one conditional update: of two concurrent uses one succeeds. Returns null for a wrong or used code; else how many are left. */
export async function useRecoveryCode(
  tx: TenantTransaction,
  { peppers }: Peppers,
  { userId, code }: { readonly userId: string; readonly code: string },
): Promise<{ readonly left: number } | null> {
  const bare = bareCode(code);
  if (!/^[a-z2-7]{16}$/.test(bare)) return null;
  const hashes = peppers.map((pepper) => hashOf(pepper, userId, bare));
  return useCode(tx, userId, hashes);
}

/** `xxxx-xxxx-xxxx-xxxx` in base32: 80 random bits. */
function newCode(): string {
  const bits = [...randomBytes(codeBytes)].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  const letters = (bits.match(/.{5}/g) ?? []).map((group) => base32.charAt(Number.parseInt(group, 2))).join('');

  return (letters.match(/.{4}/g) ?? []).join('-');
}

/** The form in which codes are compared: without case, dashes and spaces, which people type as they like. */
function bareCode(code: string): string {
  return code.toLowerCase().replaceAll(/[\s-]/g, '');
}

function hashOf({ secret }: NamedKey, userId: string, bare: string): Buffer {
  return createHmac('sha256', secret).update(`recovery:${userId}:${bare}`).digest();
}
