import { forgetReplies } from '../../domain/http/idempotency.ts';
import { resolveNewRowWorkspace } from '../../db/new-row-scope.ts';
import { mapPage } from '../../db/page.ts';
import { organizationOf } from '../../db/caller-scope.ts';
import { seeForChange } from '../../db/scope.ts';
import { readEgressAllowlist } from '../../db/tenancy/organizations/egress-policy.ts';
import { listEndpointRows, readEndpoint, type WebhookEndpointRow } from '../../db/webhooks/endpoints.ts';
import { WebhookEndpoint } from '../../db/webhooks/webhook-endpoint.entity.ts';
import { changeEndpoint, deleteEndpoint, makeEndpoint, rotateEndpointSecret, type EndpointDeps } from '../../domain/webhooks/endpoints.ts';
import { changesOf } from '../http/operation/changes.ts';
import { get, list, patch, post, remove, reply, type AuditNote, type Ctx } from '../http/operation/operation.ts';
import {
  changedEndpointFields,
  EndpointFilters,
  EndpointParams,
  newEndpointFields,
  toWebhookEndpointView,
  WebhookEndpointCreate,
  WebhookEndpointSecretView,
  WebhookEndpointUpdate,
  WebhookEndpointView,
  WebhookSecretRotate,
} from './webhook-endpoint.schema.ts';

const resourceType = 'webhook_endpoint';
const defaultOverlapSeconds = 86_400;

export const webhookEndpointOperations = {
  listWebhookEndpoints: list(
    '/webhook-endpoints',
    {
      summary: 'List webhook endpoints',
      description: 'Endpoints that the caller can see, newest first. q searches the slug.',
      access: 'viewer',
      paging: 'keyset',
      query: EndpointFilters,
      view: WebhookEndpointView,
    },
    async (ctx, { query: { q, agent_id: agentId, is_active: isActive } }) => {
      const active = isActive === true ? (true as const) : undefined;
      const inactive = isActive === false ? (true as const) : undefined;
      return mapPage(await listEndpointRows(ctx, { q, agentId, active, inactive }, ctx.page), toWebhookEndpointView);
    },
  ),

  createWebhookEndpoint: post(
    '/webhook-endpoints',
    {
      summary: 'Create a webhook endpoint',
      description: 'Creates an address at which another system starts runs of an agent. At most 200 per workspace.',
      access: 'admin',
      fails: ['not_found', 'already_exists', 'state_conflict'],
      audit: 'create',
      idempotent: true,
      secretReply: true,
      resourceType,
      location: (view: { readonly id: string }) => `/webhook-endpoints/${view.id}`,
      body: WebhookEndpointCreate,
      view: WebhookEndpointSecretView,
      example: {
        body: {
          agent_id: '01960000-0000-7000-8000-000000000001',
          slug: 'orders',
          prompt_template: 'An order came in: {{ body | json | fence }}',
          session_key_template: '{{ body.order.id }}',
        },
      },
    },
    async (ctx, { body }) => {
      const place = await resolveNewRowWorkspace(ctx, body.workspace_id);
      const { agent_id: agentId, slug, secret: given = null } = body;
      const made = await makeEndpoint(ctx, await depsOf(ctx, place.organizationId), {
        ...newEndpointFields(body),
        ...place,
        agentId,
        slug,
        secret: given,
      });
      const row = await readEndpoint(ctx, made.id);
      ctx.audit(noteOf(row));
      return { ...toWebhookEndpointView(row), secret: made.secret };
    },
  ),

  getWebhookEndpoint: get(
    '/webhook-endpoints/{endpoint_id}',
    {
      summary: 'Read a webhook endpoint',
      description: 'Returns one endpoint with the number of accepted deliveries.',
      access: 'viewer',
      etag: true,
      // That number grows independently of the version.
      notModified: false,
      params: EndpointParams,
      view: WebhookEndpointView,
    },
    async (ctx, { params }) => {
      const row = await readEndpoint(ctx, params.endpoint_id);
      return reply(toWebhookEndpointView(row), { version: row.version });
    },
  ),

  updateWebhookEndpoint: patch(
    '/webhook-endpoints/{endpoint_id}',
    {
      summary: 'Change a webhook endpoint',
      description:
        'Changes the fields that are sent and keeps the rest; null resets a field to its default. Applies from the next request on.',
      access: 'admin',
      audit: 'update',
      etag: true,
      resourceType,
      params: EndpointParams,
      body: WebhookEndpointUpdate,
      view: WebhookEndpointView,
      example: { body: { response_mode: 'sync', response_path: '/output/text', rate_limit_per_minute: 120 } },
    },
    async (ctx, { params, body }) => {
      const before = await readEndpoint(ctx, params.endpoint_id);
      const endpoint = await seeForChange(ctx, WebhookEndpoint, params.endpoint_id);
      await changeEndpoint(ctx, await depsOf(ctx, endpoint.organizationId), { endpoint, change: changedEndpointFields(body) });
      const row = await readEndpoint(ctx, endpoint.id);
      ctx.audit(noteOf(row, changesOf(toWebhookEndpointView(before), toWebhookEndpointView(row), audited)));
      return reply(toWebhookEndpointView(row), { version: row.version });
    },
  ),

  deleteWebhookEndpoint: remove(
    '/webhook-endpoints/{endpoint_id}',
    {
      summary: 'Delete a webhook endpoint',
      description:
        'Its address answers 404 at once, its secrets are erased and its slug becomes available again. Runs that it has started continue.',
      access: 'admin',
      audit: 'delete',
      openWhenSuspended: true,
      resourceType,
      params: EndpointParams,
    },
    async (ctx, { params }) => {
      const row = await readEndpoint(ctx, params.endpoint_id);
      const endpoint = await seeForChange(ctx, WebhookEndpoint, params.endpoint_id, { versionProperty: null, openWhenSuspended: true });
      await deleteEndpoint(ctx, endpoint, ctx.deps.now());
      await forgetReplies(ctx, [endpoint.id]);
      ctx.audit(noteOf(row));
    },
  ),

  rotateWebhookEndpointSecret: post(
    '/webhook-endpoints/{endpoint_id}/rotate-secret',
    {
      summary: 'Rotate the secret of an endpoint',
      description: 'Returns a new secret. The previous one remains valid until the overlap is over; at most two are valid at a time.',
      access: 'admin',
      fails: ['state_conflict'],
      audit: 'update',
      secretReply: true,
      success: [200],
      resourceType,
      params: EndpointParams,
      body: WebhookSecretRotate,
      view: WebhookEndpointSecretView,
      example: { body: { overlap_seconds: 3_600 } },
    },
    async (ctx, { params, body }) => {
      await readEndpoint(ctx, params.endpoint_id);
      const endpoint = await seeForChange(ctx, WebhookEndpoint, params.endpoint_id, { versionProperty: null });
      const { overlap_seconds: overlapSeconds = defaultOverlapSeconds, secret: given = null } = body;
      const secret = await rotateEndpointSecret(ctx, ctx.deps, { endpoint, secret: given, overlapSeconds, at: ctx.deps.now() });
      const row = await readEndpoint(ctx, endpoint.id);
      ctx.audit(noteOf(row, { secret: { changed: true } }));
      return { ...toWebhookEndpointView(row), secret };
    },
  ),
};

const audited = [
  'prompt_template',
  'input_template',
  'session_key_template',
  'persona_slug_template',
  'subject_template',
  'response_mode',
  'response_path',
  'callback_url',
  'coalescing',
  'rate_limit_per_minute',
  'is_active',
] as const;

async function depsOf({ deps, caller, em }: Pick<Ctx, 'deps' | 'caller' | 'em'>, organizationId: string): Promise<EndpointDeps> {
  const policy = { allowHttp: deps.env.allowHttp, exceptions: await readEgressAllowlist({ em }, organizationId) };
  return { keys: deps.keys, templates: deps.templates.of(organizationOf(caller)), policy };
}

function noteOf({ id, slug, organizationId, workspaceId }: WebhookEndpointRow, changes: AuditNote['changes'] = {}): AuditNote {
  return { resourceType, resourceId: id, label: slug, organizationId, workspaceId, changes };
}
