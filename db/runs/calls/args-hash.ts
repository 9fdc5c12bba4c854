import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';

/** SHA-256 of the canonical JSON (RFC 8785) of a call's arguments, hexadecimal. */
export function argsHashOf(args: Readonly<Record<string, unknown>>): string {
  return createHash('sha256')
    .update(canonicalize(args) ?? '{}')
    .digest('hex');
}
