import { createHash } from 'node:crypto';

/** Returns the hash that equal contents of items and chunks share: SHA-256, hexadecimal, of the text in NFC with `\n` line ends. */
export function contentHash(text: string): string {
  return createHash('sha256').update(text.normalize('NFC').replaceAll(/\r\n?/gv, '\n')).digest('hex');
}
