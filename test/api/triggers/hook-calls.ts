import { Webhook } from 'standardwebhooks';
import { sweep } from '../../../db/transaction.ts';
import { rows } from '../../../db/sql.ts';
import type { TestApi } from '../../support/api.ts';
import type { TestTenant } from '../../support/tenant.ts';
import { makeAgent, type Answer, type World } from '../world.ts';

/** An endpoint of a tenant of its own, with the secret that it was made with. */
export interface HookScene {
  readonly tenant: TestTenant;
  readonly agentId: string;
  readonly id: string;
  readonly secret: string;
  readonly path: string;
  /** Its view as it was made. */
  readonly view: Answer['body'];
}

export interface Sent {
  readonly method?: 'POST' | 'GET' | 'PUT' | 'HEAD';
  readonly body?: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  readonly query?: string;
  /** Another process of the deployment. */
  readonly api?: TestApi;
}

let slugs = 0;

export async function makeHook(
  world: World,
  more: Readonly<Record<string, unknown>> = {},
  given: TestTenant | null = null,
): Promise<HookScene> {
  const tenant = given ?? (await world.tenant());
  const agentId = String(more['agent_id'] ?? (await makeAgent(world, tenant.tokens.admin)).id);
  const slug = String(more['slug'] ?? `hook-${(slugs += 1)}`);
  const made = await world.call(tenant.tokens.admin, 'POST', '/webhook-endpoints', { body: { agent_id: agentId, slug, ...more } });
  if (made.status !== 201) throw new Error(`createWebhookEndpoint: ${made.status} ${JSON.stringify(made.body)}`);
  const path = `/hooks/${tenant.workspaceId}/${slug}`;
  return { tenant, agentId, id: made.body.id, secret: made.body.secret, path, view: made.body };
}

/** A request of a stranger: no credential of the platform. */
export async function send(
  world: World,
  path: string,
  { method = 'POST', body, headers, query = '', api = world.api }: Sent = {},
): Promise<Answer> {
  const reply = await api.app.inject({
    method,
    url: query === '' ? path : `${path}?${query}`,
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { payload: body }),
  });
  const isJson = String(reply.headers['content-type']).includes('json');
  return {
    status: reply.statusCode,
    headers: reply.headers as Record<string, string | undefined>,
    body: reply.body === '' ? null : isJson ? JSON.parse(reply.body) : reply.body,
  };
}

/** Headers of Standard Webhooks, by its own library. */
export function signed(secret: string, body: string, { id = `msg_${crypto.randomUUID()}`, at = new Date() } = {}): Record<string, string> {
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
    'webhook-signature': new Webhook(secret).sign(id, at, body),
  };
}

/** Sends a signed JSON body to a scene's endpoint. */
export function deliver(
  world: World,
  scene: HookScene,
  value: unknown,
  options: Parameters<typeof signed>[2] & Sent = {},
): Promise<Answer> {
  const body = JSON.stringify(value);
  return send(world, scene.path, { ...options, body, headers: { ...signed(scene.secret, body, options), ...options.headers } });
}

export const sqlOf =
  (world: World) =>
  <T>(text: string, params: readonly unknown[] = []) =>
    sweep(world.api.db, (em) => rows<T>(em, text, params));
