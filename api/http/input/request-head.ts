import type { FastifyRequest } from 'fastify';
import { fail } from '../../../workflows/contracts/failure.ts';

/** Headers that mean one thing at a time. Node joins repeated ones with a comma. */
const singleHeaders = [
  'idempotency-key',
  'if-match',
  'x-acting-user',
  'x-view-organization',
  'x-view-workspace',
  'x-refresh-cookie',
] as const;

/**
 * 400 for a head that two readers could understand differently: no Host or two (RFC 9112 §3.2), a transfer coding that is not read here, one
 * header with two values. The same value twice counts as one.
 */
export function refuseAmbiguousHead(request: FastifyRequest): void {
  const { headers, raw } = request;
  const hosts = valuesOf(raw.rawHeaders, 'host').length;
  if (hosts > 1) throw malformed('There is more than one Host header.');
  if (headers.host === undefined && raw.httpVersion === '1.1') throw malformed('The Host header is missing.');

  const coding = headers['transfer-encoding'];
  if (coding !== undefined && coding.trim().toLowerCase() !== 'chunked') throw malformed('The only transfer coding is chunked.');
  for (const name of singleHeaders) if (headers[name]?.includes(',')) headers[name] = singleValue(raw.rawHeaders, name);
}

function singleValue(rawHeaders: readonly string[], name: string): string | undefined {
  const [value, ...others] = valuesOf(rawHeaders, name);
  if (others.some((other) => other !== value)) throw malformed(`The header ${name} is repeated with another value.`);
  return value;
}

function valuesOf(rawHeaders: readonly string[], name: string): string[] {
  const values: string[] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const given = rawHeaders[at] ?? '';
    if (given.length === name.length && given.toLowerCase() === name) values.push((rawHeaders[at + 1] ?? '').trim());
  }
  return values;
}

function malformed(detail: string): Error {
  return fail('malformed_request', { detail });
}
