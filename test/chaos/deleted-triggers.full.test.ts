import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startChatServer, type ChatServer } from '../fakes/chat-server.ts';
import { startModelServer, type ModelServer } from '../fakes/model-server.ts';
import { ownServices, type OwnServices } from '../support/own-services.ts';
import { created, makeAgent, scripted } from '../support/scenario.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { until } from '../support/temporal.ts';
import { makeLiveChannel, say, type LiveChannel } from '../workflows/channel-world.ts';
import { makeTrigger, matchesOf, publish } from '../workflows/event-world.ts';
import { deliveriesOf, makeEndpoint, send, sign, sqlOn, type HookEndpoint } from '../workflows/hook-world.ts';
import { occurrencesOf, scheduleRow, untilSucceeded } from '../workflows/schedule-world.ts';
import { oneOfEach } from './whole.ts';

// What starts runs is deleted while Temporal is frozen or unavailable: it still knows the schedules, groups and fan-outs when it is back.
let own: OwnServices;
let models: ModelServer;
let chat: ChatServer;
let stack: Stack;

beforeAll(async () => {
  own = await ownServices('deleted');
  models = await startModelServer();
  chat = await startChatServer();
  stack = await startStack({
    processes: ['api', 'worker-runs', 'worker-bulk'],
    modelBaseUrl: models.baseUrl,
    egressPorts: [chat.port],
    env: { DRAIN_SECONDS: '1' },
  });
});

afterAll(async () => {
  await stack?.stop().catch(() => undefined); // a service that a failed test left away
  await chat?.close();
  await models?.close();
  await own?.stop();
});

const text = scripted({ steps: [{ text: 'Done.' }] });

/** One of each that starts runs, of one agent. */
interface Causes {
  readonly agentId: string;
  readonly schedule: string;
  readonly endpoint: HookEndpoint;
  readonly trigger: string;
  readonly channel: LiveChannel;
}

async function makeCauses(kind: string, runAt: Date): Promise<Causes> {
  const { id: agentId } = await makeAgent(stack, []);
  const more = { agent_id: agentId, name: 'Cause', prompt_template: text };
  const causes = {
    agentId,
    schedule: (await created(stack, '/schedules', { ...more, run_at: runAt.toISOString() })).id,
    endpoint: await makeEndpoint(stack, agentId, { prompt_template: text, coalescing: { mode: 'debounce', window_seconds: 2 } }),
    trigger: await makeTrigger(stack, agentId, { event_kind: kind, prompt_template: text }),
    channel: await makeLiveChannel(stack, chat, 'webhook', { agent_id: agentId }),
  };
  await until(async () => (await scheduleRow(stack.db, causes.schedule))['sync_state'] === 'synced');
  return causes;
}

const remove = async (path: string) => (await stack.request('DELETE', path)).status;
const runsOf = (agentId: string) => sqlOn(stack)<{ trigger_id: string }>('select trigger_id from runs where agent_id = ?', [agentId]);

test.each(oneOfEach(['down', 'frozen'], () => 'away'))(
  'Temporal %s: what is deleted starts no run from the reply on, neither at once nor when Temporal is back',
  async (how) => {
    const runAt = new Date(Math.floor(Date.now() / 1_000) * 1_000 + 45_000);
    const kind = `shop.${how}`;
    const [each, ofAgent, kept] = [await makeCauses(kind, runAt), await makeCauses(kind, runAt), await makeCauses(kind, runAt)];
    if (how === 'frozen') own.freeze('temporal');
    else await own.kill('temporal');

    // These wait for Temporal: a group, a fan-out.
    const waiting = await Promise.all([each, ofAgent, kept].map(({ endpoint }) => send(stack, endpoint, sign(endpoint, {}))));
    await publish(stack, { event_kind: kind, payload: {} });
    const removed = await Promise.all([
      remove(`/schedules/${each.schedule}`),
      remove(`/webhook-endpoints/${each.endpoint.id}`),
      remove(`/event-triggers/${each.trigger}`),
      remove(`/channels/${each.channel.id}`),
      remove(`/agents/${ofAgent.agentId}?force=true`),
    ]);
    const refused = await Promise.all(
      [each, ofAgent].flatMap(({ endpoint, channel }) => [
        send(stack, endpoint, sign(endpoint, {})),
        say(stack, channel, 'Are you there?'),
      ]),
    );
    await publish(stack, { event_kind: kind, payload: {} });
    await until(() => Date.now() > runAt.getTime() + 1_000);
    if (how === 'frozen') own.thaw('temporal');
    else await own.up('temporal');

    // What was not deleted is the sign that all have been judged.
    await untilSucceeded(stack.db, kept.schedule);
    await until(async () => (await deliveriesOf(stack, kept.endpoint)).every(({ status }) => status === 'started'));
    await until(async () => (await matchesOf(stack, kept.trigger)).length === 2);
    await until(async () => (await sqlOn(stack)("select 1 from events where event_kind = ? and fan_out <> 'done'", [kind])).length === 0);

    expect(waiting.map((receipt) => [receipt?.status, receipt?.body.coalesced])).toEqual([202, 202, 202].map((status) => [status, true]));
    expect(removed).toEqual([204, 204, 204, 204, 204]);
    expect(refused.slice(0, 2)).toMatchObject([{ status: 404 }, 404]);
    expect([await runsOf(each.agentId), await runsOf(ofAgent.agentId)]).toEqual([[], []]);
    expect([await occurrencesOf(stack.db, each.schedule), await occurrencesOf(stack.db, ofAgent.schedule)]).toEqual([[], []]);
  },
);
