import { createHmac, randomUUID } from 'node:crypto';
import { createRequire } from 'node:module';
import type { FakeApp, FakeDelivery, FakeInstallation, FakePull, FakeRepository, HostState } from './state.ts';
import { pullView, repositoryView, userView } from './views.ts';

type Json = Record<string, any>;

const require = createRequire(import.meta.url);
/** Payloads that GitHub has sent, by event. */
const recorded: readonly { readonly name: string; readonly examples: readonly Json[] }[] = require('@octokit/webhooks-examples');

export interface HookFacts {
  readonly installation: FakeInstallation;
  readonly repository: FakeRepository;
  readonly pull?: FakePull;
  readonly sender?: string;
  /** Laid over the recorded payload. */
  readonly more?: Json;
}

/** A payload of the event as GitHub has sent one, with what the fake knows in its place. */
export function payloadOf(event: string, action: string | null, facts: HookFacts): Json {
  const examples = recorded.find(({ name }) => name === event)?.examples ?? [];
  const example = examples.find((each) => each['action'] === action) ?? examples[0] ?? {};
  const { installation, repository, pull, sender = 'ada', more = {} } = facts;
  return {
    ...structuredClone(example),
    ...(action === null ? {} : { action }),
    installation: { id: installation.id, node_id: `I_${installation.id}` },
    repository: repositoryView(repository),
    sender: userView({ login: sender, type: sender.endsWith('[bot]') ? 'Bot' : 'User', id: 5 }),
    ...(pull === undefined ? {} : { number: pull.number, pull_request: pullView(repository, pull) }),
    ...more,
  };
}

/** Sends a delivery to where the App's hooks go, signed; its status is kept. Without a hook nothing leaves. */
export async function deliver(
  state: HostState,
  app: FakeApp,
  sent: { readonly event: string; readonly payload: Json; readonly guid?: string },
): Promise<FakeDelivery> {
  const { event, payload, guid = randomUUID() } = sent;
  const fields = {
    guid,
    event,
    action: payload['action'] ?? null,
    body: JSON.stringify(payload),
    installationId: payload['installation']?.id ?? null,
    repositoryId: payload['repository']?.id ?? null,
  };
  return send(state, app, { ...fields, isRedelivery: sent.guid !== undefined });
}

/** The same bytes under the same guid. */
export async function redeliver(state: HostState, app: FakeApp, id: number): Promise<void> {
  const found = app.deliveries.find((each) => each.id === id);
  if (found) await send(state, app, { ...found, isRedelivery: true });
}

async function send(state: HostState, app: FakeApp, sent: Omit<FakeDelivery, 'id' | 'deliveredAt' | 'statusCode'>): Promise<FakeDelivery> {
  const statusCode = app.hook === null ? 0 : await post(app.hook, sent);
  const delivery = { ...sent, id: state.nextId(), deliveredAt: state.now(), statusCode };
  app.deliveries.push(delivery);
  return delivery;
}

async function post(
  { url, secret }: { url: string; secret: string },
  sent: Pick<FakeDelivery, 'guid' | 'event' | 'body'>,
): Promise<number> {
  try {
    const answer = await fetch(url, {
      method: 'POST',
      body: sent.body,
      headers: {
        'content-type': 'application/json',
        'user-agent': 'GitHub-Hookshot/044aadd',
        'x-github-delivery': sent.guid,
        'x-github-event': sent.event,
        'x-github-hook-id': '1',
        'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(sent.body).digest('hex')}`,
      },
    });
    await answer.arrayBuffer();
    return answer.status;
  } catch {
    return 502;
  }
}
