import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Hook } from '../../db/webhooks/hooks.ts';
import { wellFormed, type HookRequest } from '../../ports/hooks/texts.ts';
import { groupPairs } from '../../ports/request-text.ts';
import { isSameToken, judgeSignature, readSignature, type SignatureClaim } from '../../ports/hooks/webhook-verification.ts';

/** What a request proved, and by what a repeat of it is known. */
export interface Verified {
  /** `skipped`: the endpoint verifies nothing. */
  readonly result: 'valid' | 'invalid' | 'missing' | 'skipped';
  /** The signature is right, but its time is not near enough. */
  readonly isStale?: boolean;
  /** The header by which it was judged; `shared_token`, or null where there was nothing to judge. */
  readonly form: string | null;
  readonly deliveryKey: string | null;
  readonly digests: readonly Buffer[];
  readonly signedAt: Date | null;
}

const maxKey = 200;

/** Headers as a request of HTTP has them. */
export function headersOf(headers: IncomingHttpHeaders): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]));
}

/** The query parameters; the values of a repeated one are joined by commas. Throws `malformed_request` for an invalid escape. */
export function queryOf(search: string): Record<string, string> {
  return Object.fromEntries([...groupPairs(search)].map(([name, values]) => [name, values.join(',')]));
}

/** Digests by which a request can be recognized as a repeat, however it is verified: for the single look-up that also finds its endpoint. */
export function candidateDigests(request: HookRequest): Buffer[] {
  const claim = readSignature(request);
  return [...(claim ? signedDigests(claim) : []), ...plainDigests(request)];
}

/** Judges a request by the live secrets of its endpoint at a time of the database's clock. */
export function verifyRequest(
  { verification }: Pick<Hook, 'verification'>,
  request: HookRequest,
  { secrets, nowMs }: { readonly secrets: readonly string[]; readonly nowMs: number },
): Verified {
  const nothing = { form: null, deliveryKey: null, digests: [], signedAt: null };
  if (verification === 'hmac_sha256') {
    const claim = readSignature(request);
    if (!claim) return { ...nothing, result: 'missing' };
    const judged = judgeSignature(claim, secrets, nowMs);
    const key = { deliveryKey: cut(claim.deliveryId, maxKey), digests: signedDigests(claim), signedAt: timeOf(claim) };
    if (judged === 'valid') return { result: 'valid', form: claim.form, ...key };
    return { ...nothing, result: 'invalid', form: claim.form, isStale: judged === 'stale' };
  }
  const key = { deliveryKey: cut(request.headers['webhook-id'] ?? null, maxKey), digests: plainDigests(request), signedAt: null };
  if (verification === 'none') return { result: 'skipped', form: null, ...key };

  const token = request.headers['x-webhook-token'] ?? request.query['token'];
  if (token === undefined) return { ...nothing, result: 'missing' };
  const isRight = secrets.some((secret) => isSameToken(token, secret));
  return isRight ? { result: 'valid', form: 'shared_token', ...key } : { ...nothing, result: 'invalid', form: 'shared_token' };
}

/** An id that is not signed could be changed under a captured text: there the text itself is what a repeat is known by, too. */
function signedDigests(claim: SignatureClaim): Buffer[] {
  const id = claim.deliveryId === null ? [] : [digestOf('signed-id', Buffer.from(claim.deliveryId))];
  return claim.deliveryId !== null && claim.isIdSigned ? id : [...id, digestOf(`signed-text ${claim.form}`, claim.signedText)];
}

function plainDigests({ headers }: HookRequest): Buffer[] {
  const id = headers['webhook-id'];
  return id === undefined || id === '' ? [] : [digestOf('id', Buffer.from(id))];
}

function digestOf(kind: string, value: Buffer): Buffer {
  return createHash('sha256').update(`${kind}\0`).update(value).digest();
}

function timeOf({ timestampS }: SignatureClaim): Date | null {
  return timestampS === null || Number.isNaN(timestampS) ? null : new Date(timestampS * 1_000);
}

function cut(text: string | null, length: number): string | null {
  return text === null ? null : wellFormed(text).slice(0, length);
}
