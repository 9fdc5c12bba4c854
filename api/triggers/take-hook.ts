import { createHash } from 'node:crypto';
import { newId } from '../../db/ids.ts';
import { nobody } from '../../domain/identity/callers/caller.ts';
import type { Caller } from '../../db/caller.ts';
import { systemActor, withAutocommit, workspaceTenant } from '../../db/transaction.ts';
import type { NewDelivery } from '../../db/webhooks/write-deliveries.ts';
import { findHook, liveSecretsOf, type FoundHook } from '../../db/webhooks/hooks.ts';
import { errorOf, keepRefused } from '../../domain/webhooks/deliveries.ts';
import type { HandOver } from '../../domain/code-review/hand-over.ts';
import { readEvent } from '../../domain/code-review/read-event.ts';
import { isOfHost, type DeliveryStart } from '../../domain/webhooks/start-delivery.ts';
import { eventTimeOf } from '../../ports/hooks/event-time.ts';
import { parseHookBody } from '../../ports/hooks/body.ts';
import { shownHeadersOf, shownQueryOf, type HookRequest } from '../../ports/hooks/texts.ts';
import { TemplateError } from '../../ports/templates/templates.ts';
import { fail, type Failure } from '../../workflows/contracts/failure.ts';
import { hopsHeader, hopsOf, maxHops } from '../../workflows/contracts/triggers/hops.ts';
import type { IdentifyRequest } from '../http/operation/context.ts';
import type { AppDeps } from '../http/operation/deps.ts';
import { fillDelivery } from './fill-delivery.ts';
import { candidateDigests, verifyRequest, type Verified } from './hook-request.ts';

/** A request to a hook once it has been judged, before its transaction. */
export type TakenHook =
  /** Not verified, and answered as if it were. */
  | { readonly kind: 'neutral'; readonly hook: FoundHook; readonly deliveryId: string }
  /** Slack asks whether the address is meant for it. */
  | { readonly kind: 'challenge'; readonly challenge: string }
  | VerifiedHook;

export interface VerifiedHook {
  readonly kind: 'verified';
  /** The endpoint, to whom an Idempotency-Key belongs. */
  readonly caller: Caller;
  /** What a repeat under an Idempotency-Key must have in common. */
  readonly body: string;
  readonly hook: FoundHook;
  /** Null for a repeat, which is answered by what it repeats. */
  readonly start: DeliveryStart | null;
}

/** A delivery that starts nothing. */
type RefusedDelivery = NewDelivery & { readonly status: 'rejected' | 'failed' };

type Asked = Pick<IdentifyRequest, 'deps' | 'limits' | 'limitAddress' | 'correlationId'>;

const maxRejectedRows = 100;

/**
 * The steps of a request to a hook that come before its transaction: endpoint, method, proof, limits, loop, reading, templates. Throws 404 for an address
 * that takes nothing, 405, 401 `signature_invalid`, 429, 409 `loop`, 400 and 422 for a body that can't be read, 422 `template_limit`.
 */
export async function takeHook(
  asked: Asked,
  place: { readonly workspaceId: string; readonly slug: string },
  request: HookRequest,
): Promise<TakenHook> {
  const { deps, limits } = asked;
  const hook = await findHook(deps.db, { ...place, digests: candidateDigests(request) });
  if (!hook) throw fail('not_found');
  if (hook.httpMethod !== request.method) throw fail('method_not_allowed', { headers: { allow: `${hook.httpMethod}, OPTIONS` } });

  const verified = verifyRequest(hook, request, { secrets: liveSecretsOf(hook, deps.keys), nowMs: hook.nowMs });
  if (verified.result === 'invalid' || verified.result === 'missing') return refuse(asked, { hook, verified, request });
  await limits.consume([{ policy: 'webhook_endpoint', key: hook.id, quota: hook.rateLimitPerMinute }]);
  if (hopsOf(request.headers[hopsHeader]) >= maxHops)
    throw fail('state_conflict', { reason: 'loop', detail: 'The request has passed through too many hooks of this deployment.' });

  const body = parseHookBody(request.body, request.headers['content-type']);
  const challenge = challengeIn(verified, body);
  if (challenge !== null) return { kind: 'challenge', challenge };
  const common = { kind: 'verified', caller: callerOf(hook), body: digestOfBody(request), hook } as const;
  if (hook.seenDeliveryId !== null) return { ...common, start: null };
  return { ...common, start: await fill(asked, { hook, verified, request }, body) };
}

interface Judged {
  readonly hook: FoundHook;
  readonly verified: Verified;
  readonly request: HookRequest;
}

/** An unverified request counts in a separate bucket, is stored as a row while there are few, and without its body. */
async function refuse(asked: Asked, { hook, verified, request }: Judged): Promise<TakenHook> {
  await asked.limits.consume([{ policy: 'ingress', key: `${hook.id}:${asked.limitAddress}` }]);
  const status = hook.unverifiedAck ? statusOf(hook, request) : 401;
  const row: RefusedDelivery = {
    ...keptOf({ hook, verified, request }),
    status: 'rejected',
    body: null,
    headers: {},
    query: {},
    runId: null,
    error: { code: 'signature_invalid', reason: verified.isStale ? 'stale' : verified.result },
    responseStatus: status,
  };
  if (hook.rejectedLately < maxRejectedRows) await write(asked, hook, row);
  if (hook.unverifiedAck) return { kind: 'neutral', hook, deliveryId: row.id };
  // Only the holder of the secret learns that the time alone is wrong.
  throw verified.isStale
    ? fail('signature_invalid', { reason: 'stale', detail: 'The signature is right, but its time is more than five minutes off.' })
    : fail('signature_invalid');
}

async function fill(asked: Asked, judged: Judged, body: unknown): Promise<DeliveryStart> {
  const { hook, request, verified } = judged;
  const kept = keptOf(judged, body);
  const at = new Date(hook.nowMs);
  try {
    const templates = asked.deps.templates.of(hook.organizationId);
    const { warnings, ...filled } = await fillDelivery(templates, hook, { request, body, now: at });
    return {
      delivery: { ...kept, warnings },
      body,
      ...filled,
      handOver: handOverOf(asked.deps.env.github, hook, { request, body }),
      digests: verified.digests,
      responseStatus: statusOf(hook, request),
      currency: asked.deps.env.billingCurrency,
    };
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    const failure = templateFailure();
    await write(asked, hook, failedOf(kept, failure));
    throw failure;
  }
}

/** What of a request to the Git host's endpoint goes to code review; null: the endpoint is another one's. */
export function handOverOf(
  { hook: appHook }: Pick<AppDeps['env']['github'], 'hook'>,
  hook: Pick<FoundHook, 'eventKind' | 'workspaceId' | 'slug'>,
  { request, body }: { readonly request: Pick<HookRequest, 'headers'>; readonly body: unknown },
): HandOver | null {
  if (!isOfHost(hook)) return null;
  const guid = request.headers['x-github-delivery'];
  return {
    event: guid === undefined ? null : readEvent(request.headers['x-github-event'], body),
    guid: guid ?? '',
    isOfDeployment: appHook === `${hook.workspaceId}/${hook.slug}`,
  };
}

/** 422 for templates that a request does not fill: by a limit, or a filter that fails. */
export function templateFailure(): Failure {
  return fail('validation_failed', {
    reason: 'template_limit',
    detail: 'The templates of the endpoint cannot be rendered with this request.',
  });
}

/** The row of a delivery that was verified and starts nothing. */
export function failedOf(kept: DeliveryStart['delivery'], failure: Failure): RefusedDelivery {
  return { ...kept, status: 'failed', runId: null, error: errorOf(failure), responseStatus: failure.status };
}

/** The stored part of a verified request. */
function keptOf({ hook, verified, request }: Judged, body: unknown = null): DeliveryStart['delivery'] {
  const { eventTimePath = null } = hook.coalescing ?? {};
  return {
    id: newId(),
    method: request.method,
    verificationForm: verified.form,
    deliveryKey: verified.deliveryKey,
    occurredAt: eventTimeOf(body, eventTimePath) ?? verified.signedAt ?? new Date(hook.nowMs),
    contentType: request.headers['content-type']?.slice(0, 200) ?? null,
    body: request.body,
    bodyBytes: request.body.length,
    headers: shownHeadersOf(request),
    query: shownQueryOf(request),
    hops: Math.min(hopsOf(request.headers[hopsHeader]), maxHops),
    replayOf: null,
    warnings: [],
  };
}

/** In a separate transaction, because the request is then refused. */
async function write({ deps, correlationId }: Asked, hook: FoundHook, row: RefusedDelivery): Promise<void> {
  const tenant = workspaceTenant(hook.organizationId, hook.workspaceId);
  await withAutocommit(deps.db, { tenant, actor: systemActor, correlationId }, (tx) => keepRefused(tx, hook, row));
  deps.runMetrics.measure({ kind: 'delivery', status: row.status });
}

/** The status with which the mode answers an accepted delivery. */
export function statusOf({ responseMode }: Pick<FoundHook, 'responseMode'>, { method }: Pick<HookRequest, 'method'>): number {
  return method === 'GET' || responseMode === 'sync' || responseMode === 'ack' ? 200 : 202;
}

function challengeIn({ form }: Verified, body: unknown): string | null {
  if (form !== 'x-slack-signature' || typeof body !== 'object' || body === null) return null;
  const challenge: unknown = Reflect.get(body, 'type') === 'url_verification' ? Reflect.get(body, 'challenge') : null;
  return typeof challenge === 'string' ? challenge : null;
}

/** Stands for the body where requests are compared. */
function digestOfBody({ body, headers }: HookRequest): string {
  return createHash('sha256')
    .update(`${headers['content-type'] ?? ''}\n`)
    .update(body)
    .digest('hex');
}

/** The endpoint as caller: it can see its workspace, and no operation checks its role. */
function callerOf(hook: FoundHook): Caller {
  return {
    ...nobody,
    kind: 'ingress',
    principalId: hook.id,
    organizationId: hook.organizationId,
    workspaceId: hook.workspaceId,
    workspaces: new Map([[hook.workspaceId, 'viewer']]),
  };
}
