import { createHmac } from 'node:crypto';
import canonicalize from 'canonicalize';
import { fail } from '../../../workflows/contracts/failure.ts';

const bareKey = /^[\x21-\x7e]{1,255}$/;
const quotedKey = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/;

/** The key, bare or out of a quoted structured-field string (RFC 8941 §3.3.3); null when absent, 422 when malformed. */
export function parseIdempotencyKey(header: string | readonly string[] | undefined): string | null {
  if (header === undefined) return null;
  const text = typeof header === 'string' ? header : header.join(', ');
  const [, quoted] = quotedKey.exec(text) ?? [];
  const key = quoted === undefined ? text : quoted.replaceAll(/\\(["\\])/g, '$1');
  const isBroken = quoted === undefined && text.startsWith('"');

  if (!isBroken && bareKey.test(key)) return key;
  throw fail('validation_failed', {
    errors: [
      { in: 'header', pointer: null, name: 'idempotency-key', rule: 'pattern', message: 'must be 1 to 255 visible ASCII characters' },
    ],
  });
}

/** MAC over the RFC 8785 form of a valid request: equal requests have equal fingerprints, and a stored one betrays no password. */
export function fingerprintOf(secret: Buffer, request: { body: unknown; params: unknown; query: unknown }): Buffer {
  const text = canonicalize({ body: request.body ?? null, params: request.params, query: request.query }) ?? '';
  return createHmac('sha256', secret).update(text).digest();
}
