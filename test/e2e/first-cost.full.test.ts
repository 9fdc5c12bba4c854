import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Decimal } from 'decimal.js';
import { runLonghaul } from '../cli/command.ts';
import { startModelServer, type ModelServer } from '../fakes/model-server.ts';
import { checkRun, endOf, watchRun } from '../support/run-checks.ts';
import { makeAgent, scripted, startRun } from '../support/scenario.ts';
import { startStack, type Stack } from '../support/stack.ts';

/** A hosted model that the catalogue prices; here a scripted server answers in its name. */
const name = 'gpt-5.4-mini';
let models: ModelServer;
let stack: Stack;
let env: Readonly<Record<string, string>> = {};

beforeAll(async () => {
  models = await startModelServer();
  stack = await startStack({
    processes: ['api', 'worker-runs'],
    modelBaseUrl: models.baseUrl,
    adapt: (given) => (env = { ...given, LONGHAUL_MODEL: name }),
  });
});
afterAll(async () => {
  await stack?.stop();
  await models?.close();
});

interface Usage {
  readonly usage: { readonly own: { readonly cost_amount: string | null; readonly tokens: Readonly<Record<string, number>> } };
}

async function run(): Promise<Usage['usage']['own']> {
  const { id: agentId } = await makeAgent(stack, []);
  const { id } = await startRun(stack, agentId, scripted({ steps: [{ tokens: 40 }] }, `Cost ${crypto.randomUUID()}.`));
  const seen = await endOf(watchRun(stack, id), 120_000);
  const { faults } = await checkRun(stack, id, { seen: [seen] });
  expect(faults).toEqual([]);
  return ((await stack.request('GET', `/runs/${id}`)).body as Usage).usage.own;
}

test('the first run on a hosted model shows what it costs, once its prices were imported from the catalogue', async () => {
  const unpriced = await run();

  // The catalogue goes by the address that is called.
  const imported = await runLonghaul(['prices', 'import'], { ...env, LONGHAUL_MODEL_BASE_URL: 'https://api.openai.com/v1' });
  const priced = await run();

  expect([imported.code, imported.output]).toEqual([0, expect.stringContaining(`created    compatible/${name} standard input: `)]);
  expect(new Decimal(unpriced.cost_amount ?? '0').isZero()).toBe(true);
  const { body } = await stack.request('GET', `/prices?model=compatible/${name}`);
  const perMillion = new Map((body as { items: { bucket: string; price: string }[] }).items.map((item) => [item.bucket, item.price]));
  const cost = ['input', 'output'].reduce(
    (sum, bucket) => sum.plus(new Decimal(priced.tokens[bucket] ?? 0).times(perMillion.get(bucket) ?? 0).div(1_000_000)),
    new Decimal(0),
  );
  expect(cost.gt(0)).toBe(true);
  expect(new Decimal(priced.cost_amount ?? '0').toFixed(9)).toBe(cost.toFixed(9, Decimal.ROUND_UP));
});
