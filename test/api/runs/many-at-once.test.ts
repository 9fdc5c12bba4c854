import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { runsAsActivities, type RunsAsActivities } from '../../support/runs-as-activities.ts';
import { seeded, type Seeded } from '../../support/seeded.ts';
import type { TestTenant } from '../../support/tenant.ts';
import { makeAgent, openWorld, type Answer, type World } from '../world.ts';

let world: World;
let place: RunsAsActivities;

beforeAll(async () => {
  world = await openWorld();
  place = runsAsActivities(world);
});

afterAll(() => world.close());

const sessions = ['a', 'b', 'c'];
const policies = ['enqueue', 'reject', 'interrupt', 'rollback', 'steer'];

/** One thing that somebody does to some run of the agent, at random. */
function act(tenant: TestTenant, agentId: string, { pick }: Seeded, known: readonly string[]): Promise<Answer | null> {
  const { tokens } = tenant;
  const asked = () => ({ agent_id: agentId, input: { text: 'Hi' }, session_key: pick(sessions), on_busy: pick(policies) });
  const runId = known.length === 0 ? crypto.randomUUID() : pick(known);
  const post = (path: string, body: object) => world.call(tokens.admin, 'POST', path, { body });
  const acts: (() => Promise<Answer | null>)[] = [
    () => post('/runs', asked()),
    () => post('/runs/batch', { items: [asked(), asked(), asked(), asked()] }),
    () => post(`/runs/${runId}/cancel`, { policy: pick(['interrupt', 'rollback']) }),
    () => post('/runs/cancel', { ids: [runId, ...known.slice(0, 5)] }),
    () => post('/runs/cancel', { filter: { session_key: pick(sessions), agent_id: agentId } }),
    () => post(`/runs/${runId}/retry`, { on_busy: pick(policies) }),
    async () => {
      const [last] = await place.query<{ id: string; run_id: string }>(
        "select m.id, m.run_id from messages m join runs r on r.id = m.run_id where r.agent_id = ? and m.state = 'committed' and m.role = 'user' order by m.id desc limit 1",
        [agentId],
      );
      return last ? post(`/runs/${last.run_id}/retry`, { fork_at_message_id: last.id }) : null;
    },
    () => world.call(tokens.admin, 'DELETE', `/runs/${runId}`),
    () => world.call(tokens.viewer, 'PUT', `/runs/${runId}/feedback`, { body: { rating: 'up', comment: 'x' } }),
    () =>
      place.begin(tenant, runId).then(
        () => null,
        () => null,
      ),
    () =>
      place.begin(tenant, runId).then(
        () => null,
        () => null,
      ),
    async () => {
      // Only what has begun has a workflow that ends it so.
      const active = await place.query('select from runs where id = ? and started_at is not null', [runId]);
      if (active.length > 0) await place.finish(tenant, runId, { reason: pick(['stop', 'max_steps']) });
      return null;
    },
  ];
  return pick(acts)();
}

async function broken(agentId: string): Promise<unknown[]> {
  const wrong = await place.query(
    `select 'line' as fault, c.id, c.active_run_id, c.queue_length, a.status, q.waiting from conversations c left join runs a on a.id = c.active_run_id
       cross join lateral (select count(*)::int as waiting from runs q where q.conversation_id = c.id and q.status = 'queued' and q.queue_no is not null) q
      where c.agent_id = ? and (c.queue_length <> q.waiting or (c.active_run_id is null and q.waiting > 0)
         or (c.active_run_id is not null and (a.status is null or a.status not in ('queued', 'running', 'waiting', 'cancelling'))))
     union all
     select 'not active', r.id, r.conversation_id, 0, r.status, 0 from runs r join conversations c on c.id = r.conversation_id
      where r.agent_id = ? and r.status in ('running', 'waiting', 'cancelling') and c.active_run_id is distinct from r.id
     union all
     select 'purged text', f.run_id, null, 0, f.comment, 0 from feedback f join runs r on r.id = f.run_id where r.agent_id = ? and r.deleted_at is not null and f.comment is not null
     union all
     select 'purged message', m.id, m.run_id, 0, m.state, 0 from messages m join runs r on r.id = m.run_id where r.agent_id = ? and r.deleted_at is not null
     union all
     select 'pending message', m.id, m.run_id, 0, r.status, 0 from messages m join runs r on r.id = m.run_id
      where r.agent_id = ? and m.state = 'pending' and r.status in ('succeeded', 'failed', 'cancelled')`,
    [agentId, agentId, agentId, agentId, agentId],
  );
  return wrong;
}

test.each([1, 2])(
  'starts, retries, cancels, ends, votes and purges at once leave every line and every stream whole (seed %i)',
  async (seed) => {
    const tenant = await world.tenant();
    const agent = await makeAgent(world, tenant.tokens.admin);
    const random = seeded(seed);

    for (let round = 0; round < 14; round++) {
      const known = (
        await place.query<{ id: string }>('select id from runs where agent_id = ? and deleted_at is null order by id desc limit 12', [
          agent.id,
        ])
      ).map(({ id }) => id);
      const answers = await Promise.all(Array.from({ length: 12 }, () => act(tenant, agent.id, random, known)));
      expect(answers.filter((answer) => answer !== null && answer.status >= 500).map((answer) => answer?.body)).toEqual([]);
    }

    expect(await broken(agent.id)).toEqual([]);
    const kept = await place.query<{ id: string }>('select id from runs where agent_id = ? and deleted_at is null', [agent.id]);
    for (const { id } of kept) expect([id, await place.faults(id)]).toEqual([id, []]);
  },
);
