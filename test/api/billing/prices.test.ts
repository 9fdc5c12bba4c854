import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../../db/ids.ts';
import { admin, request, type Method } from '../operator/client.ts';
import { startApi } from '../../support/api.ts';
import { bearer } from '../../support/tenant.ts';
import { openWorld, type World } from '../world.ts';

let world: World;
let operator: string;
let viewer: string;

beforeAll(async () => {
  world = await openWorld();
  const { tokens } = await world.tenant();
  ({ operator, viewer } = tokens);
});

afterAll(() => world.close());

test('a price is in force from its instant on, and the next one takes its place then', async () => {
  const model = unique();
  const first = await set({ model, bucket: 'input', price: 0.75, source: 'https://example.test/prices' });
  const later = await set({ model, bucket: 'input', price: '2.5000', effective_from: inMinutes(60) });

  expect(first).toMatchObject({
    status: 201,
    body: {
      model,
      tier: 'standard',
      bucket: 'input',
      unit: '1m_tokens',
      price: '0.75',
      currency: 'USD',
      source: 'https://example.test/prices',
    },
  });
  expect(later).toMatchObject({ status: 201, body: { price: '2.50', effective_from: expect.stringMatching(/Z$/) } });
  expect(await pricesOf(model)).toEqual(['0.75']);
  expect(await pricesOf(model, inMinutes(61))).toEqual(['2.50']);
  expect(await pricesOf(model, inMinutes(-60))).toEqual([]);
});

test('prices are listed by model, tier, bucket and currency, page by page, for every viewer', async () => {
  const model = unique();
  const rows = [
    { model, bucket: 'output', price: '3' },
    { model, bucket: 'input', price: '1' },
    { model, bucket: 'input', price: '2', tier: 'batch' },
    { model, bucket: 'call', price: '0.01', currency: 'EUR' },
  ];
  await bring(rows);

  const first = await world.call(viewer, 'GET', `/prices?model=${model}&limit=3`);
  const second = await world.call(viewer, 'GET', `/prices?model=${model}&limit=3&cursor=${first.body.next_cursor}`);
  const euros = await world.call(viewer, 'GET', `/prices?model=${model}&currency=EUR&bucket=call&tier=standard`);

  const told = [...first.body.items, ...second.body.items].map(({ tier, bucket, price }) => `${tier} ${bucket} ${price}`);
  expect(told).toEqual(['batch input 2.00', 'standard call 0.01', 'standard input 1.00', 'standard output 3.00']);
  expect(euros.body.items).toMatchObject([{ unit: 'call', currency: 'EUR' }]);
});

test.each([
  ['a price per token taken for one per million', { price: '0.00000075' }, '/price', 'unusual_price'],
  ['a price per million taken for one per thousand million', { price: 1_000.01 }, '/price', 'unusual_price'],
  ['a call for more than 100', { bucket: 'call', price: 101 }, '/price', 'unusual_price'],
  ['a sign', { price: -1 }, '/price', 'decimal'],
  ['a sign in a string', { price: '+1' }, '/price', 'decimal'],
  ['an exponent in a string', { price: '1e2' }, '/price', 'decimal'],
  ['a number of more than 15 digits', { price: 0.1234567890123456 }, '/price', 'precision'],
  ['13 decimals', { price: '1.0000000000001' }, '/price', 'decimals'],
  ['13 decimals, the last of them 0', { price: '1.0000000000000' }, '/price', 'decimals'],
  ['10^11', { price: '100000000000', confirm_unusual: true }, '/price', 'maximum'],
  ['a boolean', { price: true }, '/price', 'type'],
  ['no price', { price: undefined }, '/price', 'required'],
  ['an unknown bucket', { bucket: 'thoughts' }, '/bucket', 'enum'],
  ['the unit of another bucket', { unit: 'call' }, '/unit', 'unit'],
  ['no currency', { currency: 'XQZ' }, '/currency', 'currency'],
  ['a currency in small letters', { currency: 'usd' }, '/currency', 'pattern'],
  ['61 seconds ago', { effective_from: inMinutes(-61 / 60) }, '/effective_from', 'past'],
  ['no instant', { effective_from: 'tomorrow' }, '/effective_from', 'format'],
  ['a model of 121 characters', { model: 'm'.repeat(121) }, '/model', 'maxLength'],
  ['a tier of 41 characters', { tier: 't'.repeat(41) }, '/tier', 'maxLength'],
  ['an unknown member', { prize: 1 }, '/prize', 'unknown_field'],
])('%s is refused with its place and stores nothing', async (_what, wrong, pointer, rule) => {
  const model = unique();

  const refused = await set({ model, bucket: 'input', price: '1', ...wrong });

  expect(refused).toMatchObject({ status: 422, body: { code: 'validation_failed', errors: [expect.objectContaining({ pointer, rule })] } });
  expect(await admin(world, 'select id from model_prices where model = $1', [model])).toEqual([]);
});

test('a price that is meant so is taken with confirm_unusual, and 0 is never unusual', async () => {
  const dear = await set({ model: unique(), bucket: 'input', price: '0.000000000001', confirm_unusual: true });
  const free = await set({ model: unique(), bucket: 'call', price: 0 });

  expect(dear).toMatchObject({ status: 201, body: { price: '0.000000000001' } });
  expect(free).toMatchObject({ status: 201, body: { price: '0.00' } });
});

test('two prices of one instant are one: 409 already_exists, also at once', async () => {
  const price = { model: unique(), bucket: 'input', price: '1', effective_from: inMinutes(10) };

  const answers = await Promise.all([set(price), set({ ...price, price: '2' })]);

  expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 409]);
  expect(answers.find(({ status }) => status === 409)).toMatchObject({
    body: { code: 'already_exists', context: { field: 'effective_from' } },
  });
});

test('a price that has begun is never deleted; one to come is, once', async () => {
  const model = unique();
  const old = await set({ model, bucket: 'input', price: '1' });
  const coming = await set({ model, bucket: 'input', price: '2', effective_from: inMinutes(10) });
  await set({ model, bucket: 'input', price: '3' });
  const erase = (id: string) => send('DELETE', `/model-prices/${id}`);

  expect(await erase(old.body.id)).toMatchObject({ status: 409, body: { code: 'state_conflict', context: { reason: 'in_force' } } });
  const twice = await Promise.all([erase(coming.body.id), erase(coming.body.id)]);
  expect(twice.map(({ status }) => status).toSorted()).toEqual([204, 404]);
  expect(await erase(newId())).toMatchObject({ status: 404 });
  expect(await pricesOf(model)).toEqual(['3.00']);
  expect(await admin(world, 'select count(*)::int as count from model_prices where model = $1', [model])).toEqual([{ count: 2 }]);
});

test('an import stores what keeps the rules, says what became of each row, and can be sent again', async () => {
  const model = unique();
  const rows = [
    { model, bucket: 'input', price: '1' },
    { model, bucket: 'output', price: '0.000001' },
    { model, bucket: 'input', price: 1 },
    { model, bucket: 'output', price: '4', effective_from: inMinutes(-90) },
    { model, bucket: 'call', price: '0.5', effective_from: inMinutes(30) },
    { model, bucket: 'call', price: '0.6', effective_from: inMinutes(30) },
  ];

  const dry = await bring(rows, true);
  const stored = await admin(world, 'select id from model_prices where model = $1', [model]);
  const first = await bring(rows);
  const again = await bring(rows);

  const outcomes = ['created', 'rejected', 'unchanged', 'rejected', 'created', 'rejected'];
  expect(dry.body).toMatchObject({ dry_run: true, created: 2, unchanged: 1, rejected: 3 });
  expect(stored).toEqual([]);
  expect(first.body.rows.map(({ outcome }: { outcome: string }) => outcome)).toEqual(outcomes);
  expect(first.body.rows.map(({ error }: { error: { rule: string } | null }) => error?.rule ?? null)).toEqual([
    null,
    'unusual_price',
    null,
    'past',
    null,
    'already_exists',
  ]);
  // The price that an earlier row of the import has made is named by the row that wants the same.
  expect(first.body.rows[2].price_id).toBe(first.body.rows[0].price_id);
  expect(again.body).toMatchObject({ created: 0, unchanged: 3, rejected: 3 });
  expect(await pricesOf(model, inMinutes(31))).toEqual(['0.50', '1.00']);
});

test('one import that is sent several times at once stores each price once, those that begin later and those that begin now', async () => {
  const model = unique();
  const rows = [
    { model, bucket: 'input', price: '1' },
    { model, bucket: 'input', price: '2', effective_from: inMinutes(30) },
    { model, bucket: 'output', price: '3', effective_from: inMinutes(30) },
  ];

  const answers = await Promise.all(Array.from({ length: 6 }, () => bring(rows)));

  expect(answers.map(({ body: { rejected } }) => rejected)).toEqual(answers.map(() => 0));
  expect(answers.map(({ body: { created } }) => created).toSorted()).toEqual([0, 0, 0, 0, 0, 3]);
  expect(new Set(answers.map(({ body }) => JSON.stringify(body.rows.map((row: { price_id: string }) => row.price_id)))).size).toBe(1);
  expect(await admin(world, 'select count(*)::int as count from model_prices where model = $1', [model])).toEqual([{ count: 3 }]);
});

test('rows of an import are judged in the order in which they begin, whatever their order in it; the answer keeps theirs', async () => {
  const model = unique();
  await set({ model, bucket: 'input', price: '1' });
  const rows = [
    { model, bucket: 'input', price: '1', effective_from: inMinutes(60) },
    { model, bucket: 'input', price: '2', effective_from: inMinutes(30) },
  ];

  const first = await bring(rows);
  const dry = await bring(rows, true);
  const again = await bring(rows);

  expect(first.body).toMatchObject({
    created: 2,
    rows: [
      { index: 0, outcome: 'created' },
      { index: 1, outcome: 'created' },
    ],
  });
  for (const { body } of [dry, again]) expect(body).toMatchObject({ created: 0, unchanged: 2, rejected: 0 });
  expect([await pricesOf(model, inMinutes(31)), await pricesOf(model, inMinutes(61))]).toEqual([['2.00'], ['1.00']]);
});

test('an import of 2,000 rows sends no statement a row; 2,001 are refused', async () => {
  const model = unique();
  const rows = Array.from({ length: 2_000 }, (_, at) => ({ model: `${model}-${at}`, bucket: 'input', price: '1' }));

  const all = await bring(rows);
  const tooMany = await bring([...rows, { model, bucket: 'input', price: '1' }]);

  expect(all.body).toMatchObject({ created: 2_000, rejected: 0 });
  expect(tooMany).toMatchObject({ status: 422, body: { errors: [{ pointer: '/rows', rule: 'maxItems' }] } });
});

test('an API whose clock is five minutes ahead imports prices that are in force at once, and calls none past that begins soon', async () => {
  const model = unique();
  const { database, keys, redisPrefix } = world.api;
  const ahead = await startApi({ database, keys, redisPrefix, now: () => new Date(Date.now() + 300_000) });
  const post = async (url: string, payload: object) =>
    (await ahead.app.inject({ method: 'POST', url, headers: bearer(operator), payload })).json<Record<string, unknown>>();
  try {
    const imported = await post('/model-prices/import', {
      rows: [
        { model, bucket: 'input', price: '1' },
        { model, bucket: 'input', price: '2', effective_from: inMinutes(2) },
      ],
    });
    const set = await post('/model-prices', { model, bucket: 'output', price: '3', effective_from: inMinutes(2) });

    expect([imported, set]).toMatchObject([{ created: 2, rejected: 0 }, { price: '3.00' }]);
    expect([await pricesOf(model), await pricesOf(model, inMinutes(3))]).toEqual([['1.00'], ['2.00', '3.00']]);
  } finally {
    await ahead.close();
  }
});

test('changes of prices stand in the log of the platform, with the price', async () => {
  const model = unique();
  const made = await set({ model, bucket: 'input', price: '1', effective_from: inMinutes(5) });
  await send('DELETE', `/model-prices/${made.body.id}`);

  const entries = await admin(
    world,
    'select action, organization_id, resource_type, resource_label, changes from audit_entries where resource_id = $1 order by created_at',
    [made.body.id],
  );

  const entry = { organization_id: null, resource_type: 'model_price', resource_label: `${model} standard input USD` };
  expect(entries).toMatchObject([
    { ...entry, action: 'create', changes: { price: { to: '1.00' } } },
    { ...entry, action: 'delete', changes: { price: { from: '1.00' } } },
  ]);
});

test('a model is priced under the id by which calls are counted, whichever of its names is sent', async () => {
  const named = await set({ model: 'extractive', bucket: 'call', price: '0', effective_from: inMinutes(1) });

  expect(named.body).toMatchObject({ model: 'builtin/extractive' });
  await send('DELETE', `/model-prices/${named.body.id}`);
});

function set(body: object) {
  return send('POST', '/model-prices', body);
}

function bring(rows: readonly object[], isDryRun = false) {
  return send('POST', '/model-prices/import', { rows, dry_run: isDryRun });
}

function send(method: Method, path: string, body?: object) {
  return request(world, operator, method, path, body ? { body } : {});
}

async function pricesOf(model: string, at: string | null = null): Promise<string[]> {
  const { body } = await world.call(viewer, 'GET', `/prices?model=${model}${at === null ? '' : `&at=${at}`}`);
  return body.items.map(({ price }: { price: string }) => price);
}

function unique(): string {
  return `test/${newId()}`;
}

function inMinutes(minutes: number): string {
  return new Date(Date.now() + minutes * 60_000).toISOString();
}
