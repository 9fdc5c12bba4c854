import { setTimeout as delay } from 'node:timers/promises';
import { created } from '../../support/scenario.ts';
import type { Seeded } from '../../support/seeded.ts';
import { sign, type HookEndpoint } from '../../workflows/hook-world.ts';
import { signMessage } from '../../workflows/channel-world.ts';
import { newMarker, type Cause, type CauseKind } from '../checker/record.ts';
import { apis, type ChaosWorld } from '../world.ts';
import { insist } from './insist.ts';

/** What starts runs in a world besides its people, each of one agent that only answers. */
export interface CauseCast {
  readonly agentId: string;
  readonly hooks: Readonly<Record<HookKind, HookEndpoint>>;
  readonly channelId: string;
}

type HookKind = Extract<CauseKind, `hook ${string}` | `coalesced ${string}`>;

export const triggersOfEvent = 2;
const eventKind = 'chaos.happened';
const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const all = { payload: 'all', key_template: '{{ body.key }}' };
const hookBodies: Readonly<Record<HookKind, object>> = {
  'hook async': { response_mode: 'async' },
  'hook sync': { response_mode: 'sync' },
  'hook ack': { response_mode: 'ack' },
  'hook callback': { response_mode: 'callback' },
  'coalesced debounce': { coalescing: { mode: 'debounce', window_seconds: 3, ...all } },
  'coalesced throttle': { coalescing: { mode: 'throttle', window_seconds: 10, ...all } },
  'coalesced batch': { coalescing: { mode: 'batch', window_seconds: 5, max_batch: 3, ...all } },
};
const hookKinds = Object.keys(hookBodies) as readonly HookKind[]; // the keys of the record

/** Makes endpoints of all modes, two triggers of one kind of event, and a channel; answers arrive at `world.answers`. */
export async function makeCauses(world: ChaosWorld): Promise<CauseCast> {
  const agentId = (await make(world, '/agents', agentBody())).id;
  const origin = `http://127.0.0.1:${world.answers.port}`;
  const hooks: Partial<Record<HookKind, HookEndpoint>> = {};
  for (const kind of hookKinds) {
    const slug = kind.replace(' ', '-');
    const prompt = kind.startsWith('coalesced') ? '{% for item in items %}{{ item.body.text }} {% endfor %}' : '{{ body.text }}';
    const more = kind === 'hook callback' ? { callback_url: `${origin}/callback` } : {};
    const body = { agent_id: agentId, slug, prompt_template: prompt, rate_limit_per_minute: 10_000, ...hookBodies[kind], ...more };
    hooks[kind] = { slug, ...(await make<{ id: string; secret: string }>(world, '/webhook-endpoints', body)) };
  }
  for (let n = 0; n < triggersOfEvent; n += 1)
    await make(world, '/event-triggers', {
      name: `Trigger ${n}`,
      agent_id: agentId,
      event_kind: eventKind,
      prompt_template: '{{ event.payload.text }}',
    });
  const channel = { kind: 'webhook', name: 'Desk', agent_id: agentId, streaming: false, settings: { outbound_url: `${origin}/desk` } };
  const { id: channelId } = await make(world, '/channels', { ...channel, secrets: { signing_secret: secret } });
  return { agentId, hooks: hooks as CauseCast['hooks'], channelId }; // each kind has been made
}

/** Has everything happen that starts runs, over a time; resolves when all has been taken. */
export async function causes(
  world: ChaosWorld,
  random: Seeded,
  { cast, overMs }: { readonly cast: CauseCast; readonly overMs: number },
): Promise<void> {
  const played = [
    ...hookKinds.flatMap((kind) => times(kind.startsWith('hook') ? 2 : 4, () => () => deliver(world, cast, kind, random))),
    ...times(3, () => () => schedule(world, cast, random)),
    ...times(2, () => () => publish(world)),
    ...times(3, () => () => say(world, cast)),
  ];
  await Promise.all(
    played.map(async (play) => {
      await delay(random.between(0, overMs));
      await play();
    }),
  );
}

/** A delivery, again and again until it is taken, sometimes once more then: it gets the same run. */
async function deliver(world: ChaosWorld, { hooks }: CauseCast, kind: HookKind, random: Seeded): Promise<void> {
  const cause = happen(world, kind);
  const value = { text: `Something happened, ${cause.marker}.`, key: `key-${random.between(1, 2)}` };
  const { slug } = hooks[kind];
  const path = `/hooks/${world.stack.tenant.workspaceId}/${slug}`;
  for (let left = random.between(1, 2); left > 0; left--) {
    const answer = await insist<{ run_id?: string | null }>(world, {
      path,
      raw: () => sign(hooks[kind], value, cause.marker),
      names: apis,
    });
    if (answer === null) return;
    if (answer.status >= 300) world.record.surprises.push(`${answer.status} by ${kind}: ${JSON.stringify(answer.body).slice(0, 200)}`);
    else take(cause, answer.body.run_id ?? null);
  }
}

/** A schedule of one instant; one that was made too late for it is made anew. */
async function schedule(world: ChaosWorld, { agentId }: CauseCast, random: Seeded): Promise<void> {
  const cause = happen(world, 'schedule');
  for (;;) {
    const runAt = new Date(Date.now() + random.between(3_000, 20_000)).toISOString();
    const times = { run_at: runAt, catch_up_seconds: 3_600 };
    const body = { agent_id: agentId, name: 'Once', prompt_template: `It is time, ${cause.marker}.`, ...times };
    const answer = await insist(world, { path: '/schedules', body, names: apis });
    if (answer === null) return;
    if (answer.status === 201) return take(cause, null);
    if (answer.status !== 422) world.record.surprises.push(`${answer.status} by a schedule: ${JSON.stringify(answer.body).slice(0, 200)}`);
    if (answer.status !== 422) return;
  }
}

async function publish(world: ChaosWorld): Promise<void> {
  const cause = happen(world, 'event');
  const body = { event_kind: eventKind, payload: { text: `Something happened, ${cause.marker}.` }, dedupe_key: cause.marker };
  const answer = await insist(world, { path: '/events', body, names: apis });
  if (answer?.status === 202) take(cause, null);
  else if (answer) world.record.surprises.push(`${answer.status} by an event: ${JSON.stringify(answer.body).slice(0, 200)}`);
}

async function say(world: ChaosWorld, { channelId }: CauseCast): Promise<void> {
  const cause = happen(world, 'channel message');
  // A thread of its own: what is said while a run waits in line would join it.
  const value = { thread_id: cause.marker, user: { id: 'ada', name: 'Ada' }, text: `Are you there? ${cause.marker}` };
  const path = `/channels/${channelId}/inbound`;
  const answer = await insist(world, { path, raw: () => signMessage(secret, value, cause.marker), names: apis });
  if (answer?.status === 200) take(cause, null);
  else if (answer) world.record.surprises.push(`${answer.status} by a channel: ${JSON.stringify(answer.body).slice(0, 200)}`);
}

function happen(world: ChaosWorld, kind: CauseKind): Cause {
  const cause = { kind, marker: newMarker(), askedAt: Date.now(), isTaken: false, runIds: [] };
  world.record.causes.push(cause);
  return cause;
}

function take(cause: Cause, runId: string | null): void {
  cause.isTaken = true;
  if (runId !== null) cause.runIds.push(runId);
}

function agentBody(): Record<string, unknown> {
  const slug = `causes-${crypto.randomUUID().slice(0, 8)}`;
  return { slug, name: 'Answers', revision: { instructions: 'Answer.' }, activate: true };
}

async function make<R extends { readonly id: string }>(world: ChaosWorld, path: string, body: Record<string, unknown>): Promise<R> {
  return (await created(world.stack, path, body)) as R; // as the caller knows the path
}

function times<T>(count: number, one: () => T): T[] {
  return Array.from({ length: count }, one);
}
