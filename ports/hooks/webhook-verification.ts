import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { signingKeyOf } from './webhook-signature.ts';

/** Headers that carry a signature, in order of precedence: the first one present decides. */
export const signatureForms = [
  'webhook-signature',
  'svix-signature',
  'stripe-signature',
  'x-slack-signature',
  'x-hub-signature-256',
  'x-signature-256',
] as const;
export type SignatureForm = (typeof signatureForms)[number];

/** A request as its sender signed it; header names in lower case. */
export interface SignedRequest {
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Buffer;
}

/** The signature that a request claims; nothing of it is verified yet. */
export interface SignatureClaim {
  readonly form: SignatureForm;
  /** The text that was signed. */
  readonly signedText: Buffer;
  readonly signatures: readonly Buffer[];
  /** The second in which it was signed; null when the form signs no time. NaN: it is not a number. */
  readonly timestampS: number | null;
  /** The sender's own id of the delivery; null when the form has none in its headers. */
  readonly deliveryId: string | null;
  /** Whether the id is part of the signed text. */
  readonly isIdSigned: boolean;
}

const toleranceS = 300;
const hexDigest = /^[0-9a-f]{64}$/i;
const digestBytes = 32;

/**
 * Reads the signature of a request: Standard Webhooks 1.0 and Svix (`id.timestamp.body`, base64, one or more `v1,`), Stripe (`t.body`), Slack
 * (`v0:t:body`), GitHub (`sha256=`) and a bare HMAC-SHA256 of the body, both in hex. Null without such a header.
 */
export function readSignature(request: SignedRequest): SignatureClaim | null {
  const form = signatureForms.find((name) => request.headers[name] !== undefined);
  return form === undefined ? null : readers[form](request, request.headers[form] ?? '');
}

/**
 * Judges a signature: `stale` if it was made with one of the secrets, but not at a time at most 300 s from `nowMs`. Every pair is compared, each in constant time. In the
 * first two forms a secret that begins with `whsec_` is base64; in all others the key is the secret as it is written.
 */
export function judgeSignature(claim: SignatureClaim, secrets: readonly string[], nowMs: number): 'valid' | 'stale' | 'invalid' {
  let isMatch = false;
  for (const secret of secrets) {
    const key = isStandard(claim.form) ? signingKeyOf(secret) : Buffer.from(secret);
    const expected = createHmac('sha256', key).update(claim.signedText).digest();
    for (const given of claim.signatures) isMatch = timingSafeEqual(expected, given) || isMatch;
  }
  if (!isMatch) return 'invalid';
  return claim.timestampS === null || Math.abs(nowMs / 1_000 - claim.timestampS) <= toleranceS ? 'valid' : 'stale';
}

/** Whether one of the secrets signed this, at a time that counts. */
export function isSignedBy(claim: SignatureClaim, secrets: readonly string[], nowMs: number): boolean {
  return judgeSignature(claim, secrets, nowMs) === 'valid';
}

/** Whether two tokens are the same, compared by digest so that the time taken says nothing about either. */
export function isSameToken(given: string, expected: string): boolean {
  return timingSafeEqual(createHash('sha256').update(given).digest(), createHash('sha256').update(expected).digest());
}

type Reader = (request: SignedRequest, signature: string) => SignatureClaim;

const readers: Readonly<Record<SignatureForm, Reader>> = {
  'webhook-signature': (request, signature) => standardClaim('webhook-signature', request, signature),
  'svix-signature': (request, signature) => standardClaim('svix-signature', request, signature),
  'stripe-signature': stripeClaim,
  'x-slack-signature': slackClaim,
  'x-hub-signature-256': ({ headers, body }, signature) => ({
    ...bodyClaim('x-hub-signature-256', body, signature.startsWith('sha256=') ? signature.slice('sha256='.length) : ''),
    deliveryId: headers['x-github-delivery'] ?? null,
  }),
  'x-signature-256': ({ body }, signature) => bodyClaim('x-signature-256', body, signature),
};

function isStandard(form: SignatureForm): boolean {
  return form === 'webhook-signature' || form === 'svix-signature';
}

function standardClaim(form: 'webhook-signature' | 'svix-signature', { headers, body }: SignedRequest, signature: string): SignatureClaim {
  const prefix = form === 'webhook-signature' ? 'webhook' : 'svix';
  const [id, timestamp] = [headers[`${prefix}-id`] ?? '', headers[`${prefix}-timestamp`] ?? ''];
  return {
    form,
    signedText: Buffer.concat([Buffer.from(`${id}.${timestamp}.`), body]),
    // `v1a` is an asymmetric form, which no shared secret verifies.
    signatures: id === '' ? [] : signature.split(' ').flatMap((part) => (part.startsWith('v1,') ? base64Digest(part.slice(3)) : [])),
    timestampS: secondsOf(timestamp),
    deliveryId: id === '' ? null : id,
    isIdSigned: true,
  };
}

function stripeClaim({ body }: SignedRequest, signature: string): SignatureClaim {
  const parts = signature.split(',').map((part) => part.trim().split('=', 2));
  const timestamp = parts.find(([name]) => name === 't')?.[1] ?? '';
  return {
    form: 'stripe-signature',
    signedText: Buffer.concat([Buffer.from(`${timestamp}.`), body]),
    signatures: parts.flatMap(([name, value = '']) => (name === 'v1' ? hexDigestOf(value) : [])),
    timestampS: secondsOf(timestamp),
    deliveryId: idInBody(body),
    isIdSigned: true,
  };
}

function slackClaim({ headers, body }: SignedRequest, signature: string): SignatureClaim {
  const timestamp = headers['x-slack-request-timestamp'] ?? '';
  return {
    form: 'x-slack-signature',
    signedText: Buffer.concat([Buffer.from(`v0:${timestamp}:`), body]),
    signatures: signature.startsWith('v0=') ? hexDigestOf(signature.slice('v0='.length)) : [],
    timestampS: secondsOf(timestamp),
    deliveryId: null,
    isIdSigned: false,
  };
}

function bodyClaim(form: SignatureForm, body: Buffer, hex: string): SignatureClaim {
  return { form, signedText: body, signatures: hexDigestOf(hex), timestampS: null, deliveryId: null, isIdSigned: false };
}

/** Returns the `id` of a Stripe event; Stripe signs the whole body. */
function idInBody(body: Buffer): string | null {
  try {
    const event: unknown = JSON.parse(body.toString());
    const id: unknown = typeof event === 'object' && event !== null ? Reflect.get(event, 'id') : null;
    return typeof id === 'string' && id !== '' ? id : null;
  } catch {
    return null; // the code that parses the body reports it
  }
}

function secondsOf(text: string): number {
  return /^\d{1,12}$/.test(text) ? Number(text) : Number.NaN;
}

function base64Digest(text: string): Buffer[] {
  const digest = Buffer.from(text, 'base64');
  return digest.length === digestBytes ? [digest] : [];
}

function hexDigestOf(text: string): Buffer[] {
  return hexDigest.test(text) ? [Buffer.from(text, 'hex')] : [];
}
