import { createHmac } from 'node:crypto';

/** The signed content: id and body of a message, and the second in which it is sent. */
export interface SignedMessage {
  readonly id: string;
  readonly timestampS: number;
  readonly body: string;
}

/**
 * Returns the headers of a webhook signed by Standard Webhooks 1.0 (https://www.standardwebhooks.com): HMAC-SHA256 over `id.timestamp.body`, one `v1` for each
 * secret. A secret that begins with `whsec_` is base64, any other is used as its bytes.
 */
export function signatureHeaders(secrets: readonly string[], { id, timestampS, body }: SignedMessage): Record<string, string> {
  const signed = `${id}.${timestampS}.${body}`;
  const signatures = secrets.map((secret) => `v1,${createHmac('sha256', signingKeyOf(secret)).update(signed).digest('base64')}`);
  return { 'webhook-id': id, 'webhook-timestamp': String(timestampS), 'webhook-signature': signatures.join(' ') };
}

/** Returns the key of a secret by Standard Webhooks: base64 after `whsec_`; any other secret is used as its bytes. */
export function signingKeyOf(secret: string): Buffer {
  const prefix = 'whsec_';
  return secret.startsWith(prefix) ? Buffer.from(secret.slice(prefix.length), 'base64') : Buffer.from(secret);
}
