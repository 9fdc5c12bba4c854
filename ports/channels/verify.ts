import { createPublicKey, verify } from 'node:crypto';
import type { ChannelKind } from '../../workflows/contracts/triggers/channels.ts';
import { isSameToken, isSignedBy, readSignature, type SignatureForm } from '../hooks/webhook-verification.ts';
import type { InboundChannel, InboundRequest } from './inbound.ts';

export type Proof = 'valid' | 'invalid' | 'missing';

const toleranceS = 300;
/** DER of a SubjectPublicKeyInfo of Ed25519 (RFC 8410), before the 32 bytes of the key. */
const ed25519Head = Buffer.from('302a300506032b6570032100', 'hex');

/** Verifies a request by the mechanism of its kind, at a time of the database's clock. */
export function verifyInbound(
  kind: ChannelKind,
  request: InboundRequest,
  { settings, secrets, nowMs }: Pick<InboundChannel, 'settings' | 'secrets'> & { readonly nowMs: number },
): Proof {
  const { headers } = request;
  switch (kind) {
    case 'slack':
      return signed(request, 'x-slack-signature', { secret: secrets['signing_secret'], nowMs });
    case 'webhook':
      return signed(request, 'webhook-signature', { secret: secrets['signing_secret'], nowMs });
    case 'telegram':
      return token(headers['x-telegram-bot-api-secret-token'], secrets['webhook_secret']);
    case 'email':
      return token(headers['x-webhook-token'], secrets['inbound_token']);
    case 'discord':
      return ed25519(request, settings.public_key ?? '', nowMs);
    default:
      return kind satisfies never;
  }
}

function signed(
  { headers, body }: InboundRequest,
  form: SignatureForm,
  { secret, nowMs }: { readonly secret: string | undefined; readonly nowMs: number },
): Proof {
  // Only the headers of the channel's own form: a request may carry those of others.
  const own =
    form === 'x-slack-signature'
      ? ['x-slack-signature', 'x-slack-request-timestamp']
      : ['webhook-signature', 'webhook-id', 'webhook-timestamp'];
  const claim = readSignature({ headers: Object.fromEntries(own.map((name) => [name, headers[name]])), body });
  if (!claim) return 'missing';
  return secret !== undefined && isSignedBy(claim, [secret], nowMs) ? 'valid' : 'invalid';
}

function token(given: string | undefined, secret: string | undefined): Proof {
  if (given === undefined) return 'missing';
  return secret !== undefined && isSameToken(given, secret) ? 'valid' : 'invalid';
}

function ed25519({ headers, body }: InboundRequest, publicKey: string, nowMs: number): Proof {
  const [signature, timestamp] = [headers['x-signature-ed25519'], headers['x-signature-timestamp']];
  if (signature === undefined || timestamp === undefined) return 'missing';
  if (!/^[0-9a-f]{128}$/i.test(signature) || !/^\d{1,12}$/.test(timestamp) || !/^[0-9a-f]{64}$/i.test(publicKey)) return 'invalid';
  if (Math.abs(nowMs / 1_000 - Number(timestamp)) > toleranceS) return 'invalid';
  const key = createPublicKey({ key: Buffer.concat([ed25519Head, Buffer.from(publicKey, 'hex')]), format: 'der', type: 'spki' });
  return verify(null, Buffer.concat([Buffer.from(timestamp), body]), key, Buffer.from(signature, 'hex')) ? 'valid' : 'invalid';
}
