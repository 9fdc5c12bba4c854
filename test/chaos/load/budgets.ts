import { setTimeout as delay } from 'node:timers/promises';
import { newId } from '../../../db/ids.ts';
import { rows } from '../../../db/sql.ts';
import { sweep } from '../../../db/transaction.ts';
import type { Seeded } from '../../support/seeded.ts';
import { apis, type ChaosWorld } from '../world.ts';
import { insist } from './insist.ts';

/** So little that every load crosses its threshold and spends it; it refuses nobody. */
const monthLimit = '0.2';

/**
 * Prices the model of a world, and sets two budgets: one of the month that only counts and notifies, and one of the day that is enforced and never full.
 * A call costs one cent and its prompt.
 */
export async function setBudgets(world: ChaosWorld): Promise<void> {
  const prices = [
    ['call', 'call', '0.01'],
    ['input', '1m_tokens', '3.1234567'],
  ];
  for (const [bucket, unit, price] of prices)
    await sweep(world.stack.db, (em) =>
      rows(
        em,
        `insert into model_prices (id, model, tier, bucket, unit, price, currency, effective_from) values (?, 'fake/scripted', 'standard', ?, ?, ?, 'USD', now() - interval '1 minute')`,
        [newId(), bucket, unit, price],
      ),
    );
  await put(world, { period: 'month', limit_amount: monthLimit, alert_threshold_pct: 50 });
  await put(world, { period: 'day', limit_amount: '100000', is_enforced: true });
  await notifyReceiver(world);
}

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

/** Has the alerts of both budgets told to the receiver of the world, too. */
async function notifyReceiver({ stack, receiver }: ChaosWorld): Promise<void> {
  const ask = async (method: string, path: string, body?: object): Promise<{ items: { id: string }[] }> => {
    const answer = await stack.request(method, path, body === undefined ? {} : { body });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  await ask('PUT', '/secrets/hook', { value: secret, scope: 'workspace', workspace_id: stack.tenant.workspaceId });
  const url = `http://127.0.0.1:${receiver.port}/notices`;
  const { items } = await ask('GET', '/alert-rules?managed=true');
  for (const { id } of items)
    await ask('PATCH', `/alert-rules/${id}`, { targets: [{ kind: 'admins' }, { kind: 'webhook', url, secret_name: 'hook' }] });
}

/** Has an admin write the budget of the day, again and again while a load is played, through whichever process answers. */
export async function rewriteBudgets(world: ChaosWorld, random: Seeded, until: Promise<unknown>): Promise<void> {
  const over = new AbortController();
  void until.finally(() => over.abort()).catch(() => undefined);
  for (let times = 0; times < 20 && !over.signal.aborted; times += 1) {
    await delay(random.between(500, 5_000));
    await put(world, { period: 'day', limit_amount: String(random.between(50_000, 100_000)), is_enforced: random.next() < 0.8 });
  }
}

async function put(world: ChaosWorld, body: object): Promise<void> {
  const answer = await insist(world, { method: 'PUT', path: `/budgets/${world.stack.tenant.workspaceId}`, body, names: apis });
  if (answer !== null && answer.status !== 200)
    world.record.surprises.push(`${answer.status} by a budget: ${JSON.stringify(answer.body).slice(0, 200)}`);
}
