import { randomBytes } from 'node:crypto';

/** `<place>/<48 hexadecimal digits>`; nothing in it comes from a client. */
const keyForm = /^[0-9a-f-]{36}\/[0-9a-f]{48}$/;

/** A key that nobody can guess, under its organization, so that a purge finds all that the organization ever stored. */
export function newStorageKey(organizationId: string): string {
  return `${organizationId}/${randomBytes(24).toString('hex')}`;
}

/** Prefix of the keys of an organization. */
export function storagePlace(organizationId: string): string {
  return `${organizationId}/`;
}

/** Whether a name is a key of ours: a folder or bucket may hold what somebody else put there. */
export function isStorageKey(name: string): boolean {
  return keyForm.test(name);
}

/** The key itself. A key of another form is a bug, and must never reach a path. */
export function checkKey(key: string): string {
  if (!isStorageKey(key)) throw new Error('not a storage key');
  return key;
}
