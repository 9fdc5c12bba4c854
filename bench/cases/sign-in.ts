import { verify } from '@node-rs/argon2';
import { hashPassword } from '../../db/identity/factors/passwords.ts';
import { makeAgent, startRun } from '../../test/support/scenario.ts';
import type { Stack } from '../../test/support/stack.ts';
import { testPassword } from '../../test/support/tenant.ts';
import { most, type Bench, type BenchOptions, type Outcome, type Sample } from '../harness/bench.ts';
import { compare, finding, median, quantile } from '../harness/compare.ts';
import { authorization, startProduct, using } from '../harness/deployment.ts';
import { load } from '../harness/load.ts';

/** As long as it takes the API’s compiler. */
const firstSignIns = 400;
const signIns = 50;
const badSignInsAtOnce = 50;
const reads = 2_000;

/** Sign-ins against the password's verification alone, and reads beside a storm of bad ones. */
export const signIn: Bench = {
  name: 'sign-in',
  about:
    `POST /auth/login, one at a time, ${signIns} in a round after ${firstSignIns} to warm up, against the Argon2id verification of the same hash in the bench’s own process; ` +
    `then GET /runs/{id}, 4 at a time, ${reads} in a round, alone and while ${badSignInsAtOnce} sign-ins with a wrong password are always under way.`,
  run: (options) => using((keep) => measure(options, keep)),
};

type Keep = Parameters<Parameters<typeof using>[0]>[0];

async function measure({ rounds, log }: BenchOptions, keep: Keep): Promise<Outcome> {
  const env = {
    RATE_LIMITS: 'anonymous=off,principal=off,workspace=off,login_pair=1000000/60,login_account=1000000/60,login_ip=1000000/60',
  };
  const stack = keep(await startProduct(['api'], { env }));
  const hash = await hashPassword(testPassword);

  await signInsOf(stack, firstSignIns);

  const logins = await compare({
    rounds,
    warmUps: 1,
    sides: { verification: () => verifications(hash), product: () => signInsOf(stack, signIns) },
  });
  log('sign-ins measured');

  const agent = await makeAgent(stack, []);
  const path = `/runs/${(await startRun(stack, agent.id, 'What is new?')).id}`;
  const storms = await compare({
    rounds,
    warmUps: 1,
    sides: { calm: () => readsOf(stack, path), storm: () => during(stack, () => readsOf(stack, path)) },
  });

  return {
    findings: [
      finding(logins, { what: 'sign-in, p50', unit: 'ms', metric: 'p50', floor: 'verification', product: 'product', budget: most(1.4) }),
      finding(storms, {
        what: 'reads beside bad sign-ins, p99',
        unit: 'ms',
        metric: 'p99',
        floor: 'calm',
        product: 'storm',
        budget: most(2),
      }),
    ],
    checks: [],
  };
}

async function verifications(hash: string): Promise<Sample> {
  const times: number[] = [];

  for (let n = 0; n < signIns; n++) {
    const startedAt = performance.now();
    await verify(hash, testPassword);
    times.push(performance.now() - startedAt);
  }
  return { p50: median(times) };
}

async function signInsOf(stack: Stack, requests: number): Promise<Sample> {
  const body = () => ({ email: stack.tenant.users.member.email, password: testPassword });
  const { times } = await load({
    origin: stack.url(),
    method: 'POST',
    path: '/auth/login',
    body,
    requests,
    concurrency: 1,
    status: 200,
  });

  return { p50: median(times) };
}

async function readsOf(stack: Stack, path: string): Promise<Sample> {
  const { times } = await load({ origin: stack.url(), path, headers: authorization(stack), requests: reads, concurrency: 4, status: 200 });

  return { p99: quantile(times, 0.99) };
}

/** Works while 50 sign-ins with a wrong password are always under way. */
async function during<R>(stack: Stack, work: () => Promise<R>): Promise<R> {
  const over = new AbortController();
  const storm = Array.from({ length: badSignInsAtOnce }, async () => {
    while (!over.signal.aborted)
      await stack.request('POST', '/auth/login', { body: { email: stack.tenant.users.member.email, password: 'wrong' } });
  });

  try {
    return await work();
  } finally {
    over.abort();
    await Promise.all(storm);
  }
}
