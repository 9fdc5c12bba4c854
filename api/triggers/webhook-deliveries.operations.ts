import { mapPage } from '../../db/page.ts';
import { assertActive } from '../../db/scope.ts';
import { newId } from '../../db/ids.ts';
import { databaseTime } from '../../db/database-time.ts';
import { findSeen, listDeliveryRows, readDelivery } from '../../db/webhooks/deliveries.ts';
import { readEndpoint, type WebhookEndpointRow } from '../../db/webhooks/endpoints.ts';
import { readEndpointSecrets } from '../../db/webhooks/hooks.ts';
import { judgeStart, type FilledTexts } from '../../domain/webhooks/begin-run.ts';
import { publishesOnly, startDelivery } from '../../domain/webhooks/start-delivery.ts';
import { eventTimeOf } from '../../ports/hooks/event-time.ts';
import { parseHookBody } from '../../ports/hooks/body.ts';
import { fillHook, fillKey, type HookRequest, type HookWarning, type SeenRequest } from '../../ports/hooks/texts.ts';
import { TemplateError, type Templates } from '../../ports/templates/templates.ts';
import { fail, Failure, invalid } from '../../workflows/contracts/failure.ts';
import { list, post, type Ctx } from '../http/operation/operation.ts';
import { fillDelivery, itemOf } from './fill-delivery.ts';
import { verifyRequest, type Verified } from './hook-request.ts';
import { handOverOf, templateFailure } from './take-hook.ts';
import {
  DeliveryFilters,
  DeliveryParams,
  toWebhookDeliveryView,
  WebhookDeliveryView,
  WebhookTest,
  WebhookTestView,
  type WebhookTestBody,
} from './webhook-delivery.schema.ts';
import { EndpointParams } from './webhook-endpoint.schema.ts';

const resourceType = 'webhook_delivery';

export const webhookDeliveryOperations = {
  testWebhookEndpoint: post(
    '/webhook-endpoints/{endpoint_id}/test',
    {
      summary: 'Test a webhook endpoint',
      description:
        'Shows how the endpoint would handle a delivery: whether it is verified, and the input of the run. Starts nothing and stores nothing.',
      access: 'member',
      audit: 'none',
      success: [200],
      params: EndpointParams,
      body: WebhookTest,
      view: WebhookTestView,
      example: { body: { body: { order: { id: 42 } } } },
    },
    async (ctx, { params, body }) => {
      const endpoint = await readEndpoint(ctx, params.endpoint_id);
      return judged(ctx, endpoint, requestOf(endpoint, body));
    },
  ),

  listWebhookDeliveries: list(
    '/webhook-endpoints/{endpoint_id}/deliveries',
    {
      summary: 'List the deliveries of an endpoint',
      description:
        'Requests to the endpoint, newest first, and their outcomes. Bodies are kept for delivery_retention_days, rows for 90 days.',
      access: 'member',
      paging: 'keyset',
      params: EndpointParams,
      query: DeliveryFilters,
      view: WebhookDeliveryView,
    },
    async (ctx, { params, query }) => {
      const endpoint = await readEndpoint(ctx, params.endpoint_id);
      return mapPage(await listDeliveryRows(ctx, endpoint.id, query, ctx.page), toWebhookDeliveryView);
    },
  ),

  replayWebhookDelivery: post(
    '/webhook-endpoints/{endpoint_id}/deliveries/{delivery_id}/replay',
    {
      summary: 'Replay a delivery',
      description:
        'Handles a stored delivery again, as a new delivery with the current endpoint. 409 for a rejected delivery, and once its body is no longer stored.',
      access: 'member',
      fails: ['state_conflict'],
      audit: 'submit',
      idempotent: true,
      spends: true,
      success: [202],
      resourceType,
      params: DeliveryParams,
      view: WebhookDeliveryView,
    },
    async (ctx, { params }) => {
      const endpoint = await readEndpoint(ctx, params.endpoint_id);
      const { organizationId, workspaceId } = endpoint;
      const stored = await readDelivery(ctx, endpoint.id, params.delivery_id);
      await assertActive(ctx.em, { organizationId, workspaceId });
      const id = await replay(ctx, endpoint, stored);
      ctx.audit({ resourceType, resourceId: id, label: endpoint.slug, organizationId, workspaceId });
      return toWebhookDeliveryView(await readDelivery(ctx, endpoint.id, id));
    },
  ),
};

type StoredDelivery = Awaited<ReturnType<typeof readDelivery>>;

async function replay(ctx: Ctx, endpoint: WebhookEndpointRow, stored: StoredDelivery): Promise<string> {
  if (!endpoint.isActive) throw conflict('endpoint_inactive', 'The endpoint is not active.');
  if (stored.status === 'rejected') throw conflict('not_replayable', 'The delivery was not verified, so nothing of it was stored.');
  if (stored.status === 'coalescing') throw conflict('not_replayable', 'The delivery has not started a run yet.');
  if (stored.body === null) throw conflict('body_erased', 'The body of the delivery is no longer stored.');

  const request: HookRequest = { method: stored.method, headers: stored.headers, query: stored.query, body: stored.body };
  const now = await databaseTime(ctx.em);
  const body = parseHookBody(request.body, request.headers['content-type']);
  const { warnings, ...made } = await inTemplates(() => fillDelivery(templatesOf(ctx, endpoint), endpoint, { request, body, now }));
  const { eventTimePath = null } = endpoint.coalescing ?? {};
  const id = newId();
  const kept = {
    id,
    method: stored.method,
    verificationForm: stored.verificationForm,
    deliveryKey: stored.deliveryKey,
    occurredAt: eventTimeOf(body, eventTimePath) ?? now,
    contentType: stored.contentType,
    body: stored.body,
    bodyBytes: stored.bodyBytes,
    headers: stored.headers,
    query: stored.query,
    hops: stored.hops,
    replayOf: stored.id,
    warnings,
  };
  const { billingCurrency: currency } = ctx.deps.env;
  const given = handOverOf(ctx.deps.env.github, endpoint, { request, body });
  // The host's id of it has been seen.
  const handOver = given && { ...given, guid: id };
  const start = { delivery: kept, body, ...made, handOver, digests: [], responseStatus: 202, currency, at: now };
  const outcome = await startDelivery(ctx, endpoint, start);
  if (outcome.kind === 'refused') throw outcome.failure;
  return id;
}

function conflict(reason: string, detail: string): Failure {
  return fail('state_conflict', { reason, detail });
}

function templatesOf({ deps }: Ctx, { organizationId }: WebhookEndpointRow): Templates {
  return deps.templates.of(organizationId);
}

/** Throws 422 `template_limit` for what templates can't do. */
async function inTemplates<R>(fill: () => Promise<R>): Promise<R> {
  try {
    return await fill();
  } catch (error) {
    throw error instanceof TemplateError ? templateFailure() : error;
  }
}

/** The request that a test describes, as it would come. 422 where its body is given twice. */
function requestOf(endpoint: WebhookEndpointRow, test: WebhookTestBody): HookRequest {
  if (test.body !== undefined && test.raw_body !== undefined) throw invalid('/raw_body', 'excluded', 'must not be combined with body');
  const headers = Object.fromEntries(Object.entries(test.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]));
  const text = test.raw_body ?? (test.body === undefined ? '' : JSON.stringify(test.body));
  return {
    method: test.method ?? endpoint.httpMethod,
    headers: text === '' ? headers : { 'content-type': 'application/json', ...headers },
    query: test.query ?? {},
    body: Buffer.from(text),
  };
}

async function judged(ctx: Ctx, endpoint: WebhookEndpointRow, request: HookRequest) {
  const now = await databaseTime(ctx.em);
  const secrets = await readEndpointSecrets(ctx, ctx.deps.keys, endpoint);
  const verified = verifyRequest(endpoint, request, { secrets, nowMs: now.getTime() });
  const seen = await findSeen(ctx, endpoint.id, verified.digests);
  const made = await madeOf(ctx, endpoint, { request, now });
  const refusal = refusalOf(endpoint, verified, request) ?? made.refusal;
  return {
    verification: { form: verified.form, result: verified.result },
    prompt: made.texts?.prompt ?? '',
    input: made.texts?.input ?? null,
    session_key: made.texts?.sessionKey ?? null,
    persona_slug: made.texts?.personaSlug ?? null,
    subject: made.texts?.subject ?? null,
    coalesce_key: made.key,
    duplicate_of: seen?.id ?? null,
    would_start: refusal === null && seen === null && !publishesOnly(endpoint),
    refusal: refusal?.code ?? null,
    warnings: [...made.warnings],
  };
}

interface Made {
  readonly texts: FilledTexts | null;
  /** Null: it would not be coalesced. */
  readonly key: string | null;
  readonly refusal: Failure | null;
  readonly warnings: readonly HookWarning[];
}

async function madeOf(
  ctx: Ctx,
  endpoint: WebhookEndpointRow,
  { request, now }: { readonly request: HookRequest; readonly now: Date },
): Promise<Made> {
  const nothing: Made = { texts: null, key: null, refusal: null, warnings: [] };
  try {
    const seen = { request, body: parseHookBody(request.body, request.headers['content-type']), now };
    if (publishesOnly(endpoint)) return nothing;
    const { texts, key, warnings } = await inTemplates(() => filledAlone(templatesOf(ctx, endpoint), endpoint, seen));
    const judgement = await judgeStart(ctx, endpoint, { texts, currency: ctx.deps.env.billingCurrency, hops: 0 });
    return { texts, key, refusal: judgement.refusal, warnings: [...warnings, ...judgement.warnings] };
  } catch (error) {
    if (error instanceof Failure && error.status < 500) return { ...nothing, refusal: error };
    throw error;
  }
}

/** What the run of a delivery would be if no other came, and the key under which others would join it. */
async function filledAlone(templates: Templates, endpoint: WebhookEndpointRow, seen: SeenRequest) {
  const { coalescing } = endpoint;
  const keyed = coalescing && (await fillKey(templates, { template: coalescing.keyTemplate, hook: endpoint }, seen));
  const filled = await fillHook(templates, endpoint, coalescing?.payload === 'all' ? { ...seen, items: [itemOf(seen)] } : seen);
  return { texts: filled.texts, key: keyed?.key ?? null, warnings: [...(keyed?.warnings ?? []), ...filled.warnings] };
}

/** What a sender would get before anything is read. */
function refusalOf(endpoint: WebhookEndpointRow, { result }: Verified, { method }: HookRequest): Failure | null {
  if (!endpoint.isActive) return fail('not_found');
  if (method !== endpoint.httpMethod) return fail('method_not_allowed');
  return result === 'invalid' || result === 'missing' ? fail('signature_invalid') : null;
}
