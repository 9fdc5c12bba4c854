import { createEventActivities } from '../../../activities/triggers/event-activities.ts';
import { asTenant } from '../../../activities/support/tenant.ts';
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

/** What became of an event for one trigger, as its view says. */
export interface SeenMatch {
  readonly trigger_id: string;
  readonly outcome: string;
  readonly run_id: string | null;
  readonly error_code: string | null;
}

/** One pass of a fan-out in the test's own process, as a worker makes it; true: nothing is left. */
export function fanOutHere(world: World, tenant: TestTenant, eventId: string): Promise<boolean> {
  const { organizationId, workspaceId } = tenant;
  const { fanOutEvent } = createEventActivities(world.api.deps);
  return asTenant({ organizationId, workspaceId, correlationId: crypto.randomUUID() }, () => fanOutEvent({ eventId }));
}

/** The matches of an event by its view, by trigger. */
export async function matchesOf(world: World, tenant: TestTenant, eventId: string): Promise<SeenMatch[]> {
  const { body } = await world.call(tenant.tokens.viewer, 'GET', '/events?limit=200');
  return body.items.find(({ id }: { id: string }) => id === eventId)?.matches ?? [];
}

/** Publishes an event and does its whole fan-out here; gives its id. */
export async function publishHere(
  world: World,
  tenant: TestTenant,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<string> {
  const { body: event } = await publish(world, tenant, body, { headers });
  while (!(await fanOutHere(world, tenant, event.id)));
  return event.id;
}
