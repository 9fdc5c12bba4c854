import { createHash } from 'node:crypto';

/** What equal contents of items and chunks have in common: SHA-256, hexadecimal, of the text in NFC with `\n` at the ends of its lines. */
export function contentHash(text: string): string {
  return createHash('sha256').update(text.normalize('NFC').replaceAll(/\r\n?/gv, '\n')).digest('hex');
}
