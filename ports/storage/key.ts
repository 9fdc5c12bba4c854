import { randomBytes } from 'node:crypto';

/** `<organization>/<48 hexadecimal digits>`; nothing in it comes from a client. */
const keyForm = /^[0-9a-f-]{36}\/[0-9a-f]{48}$/;

/** Returns an unguessable key under its organization, so that a purge finds everything that the organization ever stored. */
export function newStorageKey(organizationId: string): string {
  return `${organizationId}/${randomBytes(24).toString('hex')}`;
}

/** Returns the prefix of an organization's keys. */
export function storagePlace(organizationId: string): string {
  return `${organizationId}/`;
}

/** Whether a name is a key of ours: a folder or bucket may hold foreign objects. */
export function isStorageKey(name: string): boolean {
  return keyForm.test(name);
}

/** Returns the key itself. A key of another form is a bug, and must never reach a path. */
export function checkKey(key: string): string {
  if (!isStorageKey(key)) throw new Error('not a storage key');
  return key;
}
