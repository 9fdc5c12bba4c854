import { defineEntity, p } from '@mikro-orm/core';
import { createdAtColumn, idColumn, timeColumn, updatedAtColumn, uuidColumn, versionColumn } from '../columns.ts';
import { index, tenantIndexes, uniqueIndex } from '../indexes.ts';
import { tenantPolicies } from '../policies.ts';

export const hookMethods = ['POST', 'GET'] as const;
export type HookMethod = (typeof hookMethods)[number];
export const verifications = ['hmac_sha256', 'shared_token', 'none'] as const;
export type Verification = (typeof verifications)[number];
export const responseModes = ['async', 'sync', 'callback', 'ack'] as const;
export type ResponseMode = (typeof responseModes)[number];
export const coalescingModes = ['debounce', 'throttle', 'batch'] as const;
export const coalescedPayloads = ['first', 'last', 'all'] as const;

/** How deliveries of one key become one run. */
export interface Coalescing {
  readonly mode: (typeof coalescingModes)[number];
  /** Deliveries for which it yields the same text belong together; null: all do. */
  readonly keyTemplate: string | null;
  /** JSON pointer to the sender's own time in the body. */
  readonly eventTimePath: string | null;
  readonly windowSeconds: number;
  /** For `debounce`: a group closes this long after its first delivery at the latest. */
  readonly maxWaitSeconds: number | null;
  /** Whose data the templates see. */
  readonly payload: (typeof coalescedPayloads)[number];
  readonly maxBatch: number;
}

const schema = defineEntity({
  name: 'WebhookEndpoint',
  tableName: 'webhook_endpoints',
  rowLevelSecurity: 'force',
  policies: tenantPolicies('webhook_endpoints', 'tenant'),
  indexes: [
    ...tenantIndexes('webhook_endpoints'),
    index('webhook_endpoints', 'agent', '(agent_id)'),
    uniqueIndex('webhook_endpoints', 'slug', '(workspace_id, slug) where deleted_at is null'),
  ],
  uniques: [{ name: 'webhook_endpoints_tenant_key', properties: ['id', 'organizationId'] }],
  properties: {
    id: idColumn(),
    organizationId: uuidColumn(),
    workspaceId: uuidColumn(),
    agentId: uuidColumn(),
    slug: p.text(),
    httpMethod: p.enum(hookMethods).default('POST'),
    verification: p.enum(verifications).default('hmac_sha256'),
    /** AES-256-GCM, bound to table and id: a JSON list of the newest secret, followed by the previous one. */
    secretsEnc: p.blob().$type<Buffer>().strictNullable(),
    /** Until then the previous secret is accepted too. */
    secretOverlapUntil: timeColumn().strictNullable(),
    promptTemplate: p.text(),
    inputTemplate: p.json<Record<string, unknown>>().strictNullable(),
    sessionKeyTemplate: p.text().strictNullable(),
    personaSlugTemplate: p.text().strictNullable(),
    subjectTemplate: p.json<{ readonly kind: 'user' | 'guest'; readonly id: string }>().strictNullable(),
    responseMode: p.enum(responseModes).default('async'),
    responsePath: p.text().strictNullable(),
    callbackUrl: p.text().strictNullable(),
    /** Its receiver wants no more callbacks (410), until an address is set again. */
    callbackStoppedAt: timeColumn().strictNullable(),
    /** Kind of the event that each delivery emits, besides or instead of a run. */
    eventKind: p.text().strictNullable(),
    /** Null: each delivery is a run. */
    coalescing: p.json<Coalescing>().strictNullable(),
    rateLimitPerMinute: p.integer().default(60),
    unverifiedAck: p.boolean().default(false),
    isActive: p.boolean().default(true),
    version: versionColumn(),
    createdAt: createdAtColumn(),
    updatedAt: updatedAtColumn(),
    deletedAt: timeColumn().strictNullable(),
  },
});

/** An address at which another system starts runs of an agent. */
export class WebhookEndpoint extends schema.class {}
schema.setClass(WebhookEndpoint);
