import { createHmac, timingSafeEqual } from 'node:crypto';
import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import type { KeyList, NamedKey } from '../db/key-ring.ts';
import { originText, parseOrigin, type TraceOrigin } from '../ports/telemetry/origin.ts';

/** The tenant of a workflow. Set by `temporal/start`, signed, and verified before each activity runs. */
export interface TenantHeader {
  readonly organizationId: string;
  readonly workspaceId: string | null;
  readonly correlationId: string;
  /** The trace to which the workflow belongs. */
  readonly trace?: TraceOrigin | null;
}

const version = 'v1';

/** Returns the header signed with the newest key: `v1.<key id>.<claims>.<HMAC-SHA-256>`, claims and MAC in base64url. Without a trace it has three claims. */
export function signTenantHeader(keys: KeyList, { organizationId, workspaceId, correlationId, trace }: TenantHeader): Payload {
  const [key] = keys;
  const values = [organizationId, workspaceId, correlationId, ...(trace ? [originText(trace)] : [])];
  const payload = Buffer.from(JSON.stringify(values)).toString('base64url');
  const signed = `${version}.${key.id}.${payload}`;

  return defaultPayloadConverter.toPayload(`${signed}.${macOf(key, signed)}`);
}

/** Returns the tenant of a header made with one of our keys; throws on anything else. */
export function verifyTenantHeader(keys: KeyList, payload: Payload): TenantHeader {
  const text = defaultPayloadConverter.fromPayload<unknown>(payload);
  const parts = typeof text === 'string' ? text.split('.') : [];
  const [madeBy, keyId, claims, mac] = parts;
  const key = keys.find((candidate) => candidate.id === keyId);

  if (parts.length !== 4 || madeBy !== version || !key || !claims || !mac)
    throw new Error('the tenant header is malformed or made by an unknown key');
  if (!isSame(mac, macOf(key, `${madeBy}.${keyId}.${claims}`))) throw new Error('the signature of the tenant header is wrong');
  // The MAC vouches for the shape: only signTenantHeader makes it.
  const [organizationId, workspaceId, correlationId, trace] = JSON.parse(Buffer.from(claims, 'base64url').toString()) as [
    string,
    string | null,
    string,
    string?,
  ];

  const origin = parseOrigin(trace);
  return { organizationId, workspaceId, correlationId, ...(origin === null ? {} : { trace: origin }) };
}

/**
 * Signs the id of an organization, for an activity across tenants that passes a tenant to another activity through the history. `<id>.<key id>.<HMAC-SHA-256>`,
 * about 90 bytes.
 */
export function signOrganization([key]: KeyList, organizationId: string): string {
  return `${organizationId}.${key.id}.${macOf(key, `organization.${key.id}.${organizationId}`)}`;
}

/** Returns the id from what `signOrganization` returned under one of our keys; throws on anything else. */
export function verifyOrganization(keys: KeyList, signed: string): string {
  const [organizationId, keyId, mac, ...rest] = signed.split('.');
  const key = keys.find((candidate) => candidate.id === keyId);

  if (!organizationId || !key || !mac || rest.length > 0) throw new Error('the organization is not signed, or by an unknown key');
  if (!isSame(mac, macOf(key, `organization.${key.id}.${organizationId}`))) throw new Error('the signature of the organization is wrong');
  return organizationId;
}

function macOf(key: NamedKey, text: string): string {
  return createHmac('sha256', key.secret).update(text).digest('base64url');
}

function isSame(left: string, right: string): boolean {
  const [a, b] = [Buffer.from(left), Buffer.from(right)];

  return a.length === b.length && timingSafeEqual(a, b);
}
