import { deliver, payloadOf } from '../fakes/github/hooks.ts';
import type { FakePull } from '../fakes/github/state.ts';
import type { ReviewWorld } from './review-world.ts';

/** Gives the App of a world a hook: an endpoint of the workspace that hands deliveries over to code review. */
export async function openHook({ stack, scene, agentId }: ReviewWorld): Promise<void> {
  const body = { agent_id: agentId, slug: 'github', event_kind: 'github', response_mode: 'ack', prompt_template: 'x' };
  const made = await stack.request('POST', '/webhook-endpoints', { body });
  if (made.status !== 201) throw new Error(`POST /webhook-endpoints answered ${made.status}: ${JSON.stringify(made.body)}`);
  const { secret } = made.body as { secret: string };
  scene.app.hook = { url: `${stack.url('api')}/hooks/${stack.tenant.workspaceId}/github`, secret };
}

let comments = 900_000;

/** A comment that a person writes into the conversation of a pull request, and its delivery. Gives the comment's id. */
export async function command({ host, scene }: ReviewWorld, pull: FakePull, body: string, sender = 'ada'): Promise<number> {
  const id = ++comments;
  const { installation, repository, app } = scene;
  const more = {
    issue: { number: pull.number, pull_request: { url: 'https://api.github.com/x' }, state: 'open' },
    comment: {
      id,
      body,
      user: { login: sender, type: 'User', id: 5 },
      created_at: '2026-12-01T00:00:00Z',
      updated_at: '2026-12-01T00:00:00Z',
    },
  };
  const payload = payloadOf('issue_comment', 'created', { installation, repository, sender, more });
  await deliver(host.state, app, { event: 'issue_comment', payload });
  return id;
}
