import { createHmac } from 'node:crypto';
import { payloadOf, type HookFacts } from '../../fakes/github/hooks.ts';
import type { FakeInstallation, FakeRepository } from '../../fakes/github/state.ts';
import type { TestApi } from '../../support/api.ts';
import { makeHook, send, type HookScene } from '../triggers/hook-calls.ts';
import type { World } from '../world.ts';

/** A repository of the host that needs no repository on a disk: only its events come. */
export function toldRepository(installationId: number, id: number, name = `told-${id}`): Pick<HookFacts, 'installation' | 'repository'> {
  const installation: FakeInstallation = {
    id: installationId,
    appId: 1,
    account: 'octo',
    repositoryIds: new Set([id]),
    permissions: {},
    suspendedAt: null,
  };
  const repository: FakeRepository = {
    id,
    owner: 'octo',
    name,
    isPrivate: true,
    folder: '',
    collaborators: new Map(),
    pulls: new Map(),
    checks: [],
  };
  return { installation, repository };
}

export const shaOf = (letter: string) => letter.repeat(40);

/** Facts of a pull request laid over a recorded payload. */
export function toldPull(facts: ReturnType<typeof toldRepository>, given: Readonly<Record<string, unknown>> = {}, number = 7) {
  const { repository } = facts;
  return {
    number,
    pull_request: {
      number,
      state: 'open',
      draft: false,
      title: 'A change',
      updated_at: '2026-11-30T12:00:00Z',
      base: { ref: 'main', repo: { id: repository.id } },
      head: { ref: 'topic', sha: shaOf('a'), repo: { id: repository.id } },
      ...given,
    },
  };
}

/** An endpoint of a tenant that takes the host's deliveries. */
export function makeHostHook(world: World, given: Parameters<typeof makeHook>[2] = null, more: Readonly<Record<string, unknown>> = {}) {
  return makeHook(world, { event_kind: 'github', response_mode: 'ack', ...more }, given);
}

interface SentEvent {
  readonly event: string;
  readonly action: string | null;
  readonly facts: HookFacts;
  readonly guid?: string;
  readonly api?: TestApi;
}

/** Sends an event as the host does: its own signature, delivery id and event header. */
export function deliverEvent(
  world: World,
  { path, secret }: HookScene,
  { event, action, facts, guid = crypto.randomUUID(), api }: SentEvent,
) {
  // Two payloads of the host are never the same; a body that is sent again under another id is a captured one.
  const body = JSON.stringify({ ...payloadOf(event, action, facts), sent: guid });
  return send(world, path, {
    body,
    ...(api ? { api } : {}),
    headers: {
      'x-github-event': event,
      'x-github-delivery': guid,
      'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
    },
  });
}
