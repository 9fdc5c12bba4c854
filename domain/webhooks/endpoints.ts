import { randomBytes } from 'node:crypto';
import type { KeyRing } from '../../db/key-ring.ts';
import { newId } from '../../db/ids.ts';
import { decrypt, encrypt } from '../../db/envelope.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { endpointBinding } from '../../db/encrypted-columns.ts';
import { stopPending } from '../../db/webhooks/callbacks.ts';
import { dropWaiting } from '../../db/webhooks/groups.ts';
import { countEndpoints } from '../../db/webhooks/endpoints.ts';
import { runsInWorkspace } from '../../db/agents/agents.ts';
import { secretsIn } from '../../db/webhooks/hooks.ts';
import { WebhookEndpoint } from '../../db/webhooks/webhook-endpoint.entity.ts';
import type { EgressPolicy } from '../../ports/egress/url.ts';
import type { Templates } from '../../ports/templates/templates.ts';
import { fail, invalid } from '../../workflows/contracts/failure.ts';
import { refuseCallbackUrl, refuseContradiction, refuseTemplates, type EndpointFields } from './endpoint-rules.ts';

/** The most endpoints of a workspace. */
export const maxEndpoints = 200;

/** What the rules of endpoints need from the deployment. */
export interface EndpointDeps {
  readonly keys: Pick<KeyRing, 'keks'>;
  /** The template renderer of the endpoint's organization. */
  readonly templates: Pick<Templates, 'firstFault'>;
  /** Where the endpoint's callbacks may go. */
  readonly policy: EgressPolicy;
}

/** The values of a new endpoint. */
export interface NewEndpoint extends EndpointFields {
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly agentId: string;
  readonly slug: string;
  /** Null: one is generated. */
  readonly secret: string | null;
}

/**
 * Creates an endpoint. Returns its id and its secret, which can't be read again; null when nothing is verified. Throws 422 for contradictory fields, a template
 * that can't be parsed and an agent that does not run there, 409 `limit_reached` in a workspace that has 200, 409 `already_exists` for a slug that is taken.
 */
export async function makeEndpoint(
  tx: TenantTransaction,
  deps: EndpointDeps,
  { secret: given, ...made }: NewEndpoint,
): Promise<{ readonly id: string; readonly secret: string | null }> {
  refuseContradiction(made);
  if (made.verification === 'none' && given !== null) throw invalid('/secret', 'const', 'is not allowed while verification is none');
  refuseCallbackUrl(made.callbackUrl, deps.policy);
  await refuseTemplates(deps.templates, made);
  if (!(await runsInWorkspace(tx, made.agentId, made)))
    throw invalid('/agent_id', 'reference', 'The agent does not exist in this workspace.', { kind: 'agent' });
  if ((await countEndpoints(tx, made.workspaceId)) >= maxEndpoints)
    throw fail('state_conflict', { reason: 'limit_reached', detail: `A workspace can have at most ${maxEndpoints} webhook endpoints.` });

  const id = newId();
  const secret = made.verification === 'none' ? null : (given ?? newSecret());
  const secretsEnc = secret === null ? null : await sealSecrets(tx, deps, { id, organizationId: made.organizationId }, [secret]);
  tx.em.create(WebhookEndpoint, { id, ...made, secretsEnc, secretOverlapUntil: null, callbackStoppedAt: null, deletedAt: null });
  await tx.em.flush();
  return { id, secret };
}

/** Changes a locked endpoint; an omitted field stays as it is. Throws 422 as `makeEndpoint` does. */
export async function changeEndpoint(
  tx: TenantTransaction,
  deps: EndpointDeps,
  { endpoint, change }: { readonly endpoint: WebhookEndpoint; readonly change: Partial<EndpointFields> },
): Promise<void> {
  const next = { ...fieldsOf(endpoint), ...change };
  refuseContradiction(next);
  if (change.callbackUrl !== undefined) refuseCallbackUrl(change.callbackUrl, deps.policy);
  await refuseTemplates(deps.templates, next);
  Object.assign(endpoint, change);
  // Setting an address, even the same one, enables callbacks again.
  if (change.callbackUrl !== undefined) endpoint.callbackStoppedAt = null;
  await tx.em.flush();
  if (!next.isActive) await dropWaiting(tx, { table: 'webhook_deliveries', ownerId: endpoint.id });
}

/**
 * Deletes a locked endpoint as of `at`: it accepts nothing after the commit, its waiting deliveries and callbacks end, its secrets are erased, and its slug is
 * free.
 */
export async function deleteEndpoint(tx: TenantTransaction, endpoint: WebhookEndpoint, at: Date): Promise<void> {
  endpoint.deletedAt = at;
  endpoint.secretsEnc = null;
  endpoint.secretOverlapUntil = null;
  await tx.em.flush();
  await dropWaiting(tx, { table: 'webhook_deliveries', ownerId: endpoint.id });
  await stopPending(tx, endpoint.id);
}

/**
 * Replaces the secret of a locked endpoint and returns the new one. The preceding secret stays valid for `overlapSeconds`, older ones do not: at most two are
 * live. Throws 409 `no_secret` when nothing is verified.
 */
export async function rotateEndpointSecret(
  tx: TenantTransaction,
  deps: Pick<EndpointDeps, 'keys'>,
  rotation: { readonly endpoint: WebhookEndpoint; readonly secret: string | null; readonly overlapSeconds: number; readonly at: Date },
): Promise<string> {
  const { endpoint, overlapSeconds, at } = rotation;
  if (endpoint.secretsEnc === null)
    throw fail('state_conflict', { reason: 'no_secret', detail: 'The endpoint has no secret because its verification is none.' });
  const binding = endpointBinding(endpoint.organizationId, endpoint.id);
  const [newest] = secretsIn(await decrypt(tx.em, deps.keys, binding, endpoint.secretsEnc));

  const secret = rotation.secret ?? newSecret();
  const kept = overlapSeconds > 0 && newest !== undefined ? [secret, newest] : [secret];
  endpoint.secretsEnc = await sealSecrets(tx, deps, endpoint, kept);
  endpoint.secretOverlapUntil = overlapSeconds > 0 ? new Date(at.getTime() + overlapSeconds * 1_000) : null;
  await tx.em.flush();
  return secret;
}

function fieldsOf(endpoint: WebhookEndpoint): EndpointFields {
  const { promptTemplate, inputTemplate, sessionKeyTemplate, personaSlugTemplate, subjectTemplate } = endpoint;
  const { httpMethod, verification, responseMode, responsePath, callbackUrl, eventKind, coalescing } = endpoint;
  const { rateLimitPerMinute, unverifiedAck, isActive } = endpoint;
  const answers = { httpMethod, verification, responseMode, responsePath, callbackUrl, eventKind, coalescing };
  const texts = { promptTemplate, inputTemplate, sessionKeyTemplate, personaSlugTemplate, subjectTemplate };
  return { ...texts, ...answers, rateLimitPerMinute, unverifiedAck, isActive };
}

/** By Standard Webhooks: 32 random bytes, in base64 after `whsec_`. */
function newSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}

function sealSecrets(
  tx: TenantTransaction,
  { keys }: Pick<EndpointDeps, 'keys'>,
  { id, organizationId }: { readonly id: string; readonly organizationId: string },
  secrets: readonly string[],
): Promise<Buffer> {
  return encrypt(tx.em, keys, endpointBinding(organizationId, id), Buffer.from(JSON.stringify(secrets)));
}
