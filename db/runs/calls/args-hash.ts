import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';

/** Returns the SHA-256 of the canonical JSON (RFC 8785) of a call's arguments, in hexadecimal. */
export function argsHashOf(args: Readonly<Record<string, unknown>>): string {
  return createHash('sha256')
    .update(canonicalize(args) ?? '{}')
    .digest('hex');
}
