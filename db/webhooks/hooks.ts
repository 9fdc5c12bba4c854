import { sql } from 'kysely';
import type { Databases } from '../databases.ts';
import { callDefinerFunction } from '../identity/lookup/credential-lookup.ts';
import type { KeyRing } from '../key-ring.ts';
import { prepared, type ParametersOf } from '../prepared.ts';
import { query } from '../query.ts';
import { row } from '../sql.ts';
import { decrypt, decryptWith, type FoundDataKey } from '../envelope.ts';
import type { TenantTransaction } from '../tenant-transaction.ts';
import { endpointBinding } from '../encrypted-columns.ts';
import type { Coalescing, HookMethod, ResponseMode, Verification } from './webhook-endpoint.entity.ts';

/** The templates of an endpoint for the runs that it starts. */
export interface HookTexts {
  readonly promptTemplate: string;
  readonly inputTemplate: Record<string, unknown> | null;
  readonly sessionKeyTemplate: string | null;
  readonly personaSlugTemplate: string | null;
  readonly subjectTemplate: { readonly kind: 'user' | 'guest'; readonly id: string } | null;
}

/** An active endpoint with what decides about a request to it. */
export interface Hook extends HookTexts {
  readonly id: string;
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly agentId: string;
  readonly slug: string;
  readonly httpMethod: HookMethod;
  readonly verification: Verification;
  readonly responseMode: ResponseMode;
  readonly responsePath: string | null;
  /** Kind of the event that each delivery emits; null: none. */
  readonly eventKind: string | null;
  /** Null: each delivery is a run. */
  readonly coalescing: Coalescing | null;
  readonly rateLimitPerMinute: number;
  readonly unverifiedAck: boolean;
}

/** The same as a request finds it by its address. */
export interface FoundHook extends Hook {
  /** Hex of the encrypted secrets and of their data key; null where nothing is verified. */
  readonly secretsEnc: string | null;
  readonly dataKey: FoundDataKey | null;
  /** The previous secret is still valid. */
  readonly hasOverlap: boolean;
  /** A delivery of the last 24 hours that one of the digests belongs to. */
  readonly seenDeliveryId: string | null;
  /** Number of stored requests of the last hour that were not verified. */
  readonly rejectedLately: number;
  /** The database's clock. */
  readonly nowMs: number;
}

/** Returns the endpoint of an address, or null when there is none that takes requests now. One query, before any tenant is known. */
export function findHook(
  db: Databases,
  { workspaceId, slug, digests }: { readonly workspaceId: string; readonly slug: string; readonly digests: readonly Buffer[] },
): Promise<FoundHook | null> {
  return callDefinerFunction<FoundHook>(db, 'gate_hook($1, $2, $3)', [workspaceId, slug, digests]);
}

/** Returns the secrets that verify a request to a hook now, newest first. */
export function liveSecretsOf(hook: FoundHook, keys: Pick<KeyRing, 'keks'>): string[] {
  if (hook.secretsEnc === null || hook.dataKey === null) return [];
  const opened = decryptWith(hook.dataKey, keys, endpointBinding(hook.organizationId, hook.id), Buffer.from(hook.secretsEnc, 'hex'));
  return secretsIn(opened).slice(0, hook.hasOverlap ? 2 : 1);
}

const storedSecrets = prepared(({ id, organizationId }: ParametersOf<{ readonly id: string; readonly organizationId: string }>) =>
  query
    .selectFrom('webhook_endpoints')
    .where('id', '=', id)
    .where('organizationId', '=', organizationId)
    .select(['secretsEnc', sql<boolean>`coalesce(secret_overlap_until > clock_timestamp(), false)`.as('hasOverlap')]),
);

/** The same for an endpoint that the transaction sees. */
export async function readEndpointSecrets(
  tx: Pick<TenantTransaction, 'em'>,
  keys: Pick<KeyRing, 'keks'>,
  endpoint: { readonly id: string; readonly organizationId: string },
): Promise<string[]> {
  const found = await row(tx.em, storedSecrets({ id: endpoint.id, organizationId: endpoint.organizationId }));
  if (!found?.secretsEnc) return [];
  const secrets = secretsIn(await decrypt(tx.em, keys, endpointBinding(endpoint.organizationId, endpoint.id), found.secretsEnc));
  return secrets.slice(0, found.hasOverlap ? 2 : 1);
}

/** Returns the secrets of a decrypted envelope, newest first. */
export function secretsIn(opened: Buffer): string[] {
  const secrets: unknown = JSON.parse(opened.toString());
  return Array.isArray(secrets) ? secrets.filter((secret) => typeof secret === 'string') : [];
}

/** The same for an endpoint that the transaction sees and that takes deliveries now; null: it takes none. */
export function readHook(tx: Pick<TenantTransaction, 'em'>, endpointId: string): Promise<Hook | null> {
  return row(
    tx.em,
    query
      .selectFrom('webhook_endpoints')
      .where('id', '=', endpointId)
      .where('deletedAt', 'is', null)
      .where('isActive', '=', sql.lit(true))
      .select(['id', 'organizationId', 'workspaceId', 'agentId', 'slug', 'httpMethod', 'verification', 'responseMode', 'responsePath'])
      .select(['eventKind', 'coalescing', 'rateLimitPerMinute', 'unverifiedAck', 'promptTemplate', 'inputTemplate'])
      .select(['sessionKeyTemplate', 'personaSlugTemplate', 'subjectTemplate']),
  );
}
