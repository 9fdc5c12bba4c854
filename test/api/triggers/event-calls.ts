import type { TestApi } from '../../support/api.ts';
import { bearer, type TestTenant } from '../../support/tenant.ts';
import { makeAgent, type Answer, type World } from '../world.ts';

/** A trigger of a tenant. */
export interface TriggerScene {
  readonly tenant: TestTenant;
  readonly agentId: string;
  readonly id: string;
  /** Its view as it was made. */
  readonly view: Answer['body'];
}

/** A body that makes a trigger of an agent, with what is asked for beside it. */
export const triggerBody = (agentId: string, more: Readonly<Record<string, unknown>> = {}) => ({
  name: 'Orders',
  agent_id: agentId,
  event_kind: 'shop.order_paid',
  prompt_template: 'Paid: {{ event.payload | json | fence }}',
  ...more,
});

export async function makeTrigger(
  world: World,
  more: Readonly<Record<string, unknown>> = {},
  given: TestTenant | null = null,
): Promise<TriggerScene> {
  const tenant = given ?? (await world.tenant());
  const agentId = String(more['agent_id'] ?? (await makeAgent(world, tenant.tokens.admin)).id);
  const made = await world.call(tenant.tokens.admin, 'POST', '/event-triggers', { body: triggerBody(agentId, more) });
  if (made.status !== 201) throw new Error(`createEventTrigger: ${made.status} ${JSON.stringify(made.body)}`);
  return { tenant, agentId, id: made.body.id, view: made.body };
}

/** Publishes an event as a member; `api` is another process of the deployment. */
export async function publish(
  world: World,
  tenant: TestTenant,
  body: unknown,
  { api = world.api, headers = {} }: { readonly api?: TestApi; readonly headers?: Readonly<Record<string, string>> } = {},
): Promise<Answer> {
  const reply = await api.app.inject({
    method: 'POST',
    url: '/events',
    headers: { ...bearer(tenant.tokens.member), 'content-type': 'application/json', ...headers },
    payload: typeof body === 'string' ? body : JSON.stringify(body),
  });
  return { status: reply.statusCode, headers: reply.headers as Record<string, string | undefined>, body: JSON.parse(reply.body) };
}
