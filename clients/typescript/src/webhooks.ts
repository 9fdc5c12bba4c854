/** A signed request that is not what it claims: altered, cut, too old, or of another sender. Says no more, so that a sender learns nothing. */
export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError';

  constructor() {
    super('the webhook is not verified');
  }
}

const toleranceSeconds = 300;
const maxSignatures = 32;

type HeaderSource = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Checks a request signed as Standard Webhooks (standardwebhooks.com) and gives its event.
 *
 * @param body the bytes as they came: parsed and written again they would not be the same
 * @param secrets each with or without `whsec_`; several during a rotation
 * @throws WebhookVerificationError and nothing else
 */
export async function verifyWebhook(
  body: Uint8Array | ArrayBuffer | string,
  headers: HeaderSource,
  secrets: string | readonly string[],
): Promise<unknown> {
  try {
    return await verified(body, headers, typeof secrets === 'string' ? [secrets] : secrets);
  } catch {
    throw new WebhookVerificationError();
  }
}

async function verified(body: Uint8Array | ArrayBuffer | string, headers: HeaderSource, secrets: readonly string[]): Promise<unknown> {
  const [id, timestamp, signature] = ['id', 'timestamp', 'signature'].map((name) => headerOf(headers, `webhook-${name}`));
  if (!id || !timestamp || !signature || !/^\d{1,12}$/.test(timestamp)) throw new WebhookVerificationError();
  if (Math.abs(Date.now() / 1_000 - Number(timestamp)) > toleranceSeconds) throw new WebhookVerificationError();

  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : new Uint8Array(body);
  const signed = joined(new TextEncoder().encode(`${id}.${timestamp}.`), bytes);
  const signatures = signature
    .split(' ')
    .slice(0, maxSignatures)
    .filter((each) => each.startsWith('v1,'))
    .flatMap((each) => decoded(each.slice(3)));
  let isVerified = false;
  for (const secret of secrets) {
    const key = await keyOf(secret);
    // The comparison of WebCrypto takes the same time whatever differs.
    for (const each of signatures) if (await crypto.subtle.verify('HMAC', key, each, signed)) isVerified = true;
  }
  if (!isVerified) throw new WebhookVerificationError();
  return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
}

function headerOf(headers: HeaderSource, name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined;
  const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  return typeof found === 'string' ? found : found?.length === 1 ? found[0] : undefined;
}

function keyOf(secret: string) {
  const bytes = base64(secret.replace(/^whsec_/, ''));
  if (bytes.length === 0) throw new WebhookVerificationError();
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
}

function decoded(text: string): Uint8Array<ArrayBuffer>[] {
  try {
    return [base64(text)];
  } catch {
    return [];
  }
}

function base64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(first.length + second.length);
  all.set(first);
  all.set(second, first.length);
  return all;
}
