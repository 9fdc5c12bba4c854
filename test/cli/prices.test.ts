import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { fillRates, fxImport } from '../../cli/fx.ts';
import { fillPrices, pricesImport } from '../../cli/prices.ts';
import { SetupError } from '../../cli/setup-error.ts';
import { rateInForce } from '../../db/billing/prices/fx-rates.ts';
import { keyRingVariables, randomKeyRing } from '../../db/key-ring.ts';
import { change, rows } from '../../db/sql.ts';
import { sweep } from '../../db/transaction.ts';
import { fullTest } from '../chaos/whole.ts';
import { testDatabase, type TestDatabase } from '../support/database.ts';
import { until } from '../support/temporal.ts';
import { longhaulProcess } from './command.ts';

const keys = randomKeyRing();
/** Keys that open nothing: the registry then has the hosted models. */
const hosted = { OPENAI_API_KEY: 'none', ANTHROPIC_API_KEY: 'none' };
let database: TestDatabase;
let folder: string;

beforeAll(async () => {
  database = await testDatabase();
  folder = await mkdtemp(join(tmpdir(), 'longhaul-prices-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true });
  await database.drop();
});

/** A command in this process, as its own would run it. */
async function command(name: 'prices' | 'fx', _verb: 'import', ...rest: string[]): Promise<{ code: number; output: string }> {
  const lines: string[] = [];
  const log = (line: string) => lines.push(line);
  const env = {
    DATABASE_APP_URL: database.appUrl,
    DATABASE_SWEEPER_URL: database.sweeperUrl,
    ...keyRingVariables(keys),
    ...hosted,
  };
  const isDryRun = rest.includes('--dry-run');
  const path = rest.find((word) => !word.startsWith('--'));
  try {
    const isGood = name === 'fx' ? fxImport({ env, log, file: path }) : pricesImport({ env, log, file: path, isDryRun });
    return { code: (await isGood) === false ? 1 : 0, output: lines.map((line) => `${line}\n`).join('') };
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    return { code: 1, output: `${error.message}\n` };
  }
}

const processOf = (...args: string[]) => longhaulProcess(args, { database, keys, env: hosted }).ended;
const query = <T>(sql: string, params: unknown[] = []) => sweep(database.db, (em) => rows<T>(em, sql, params));
const pricesOf = async (model: string) =>
  (
    await query<{ told: string }>(
      "select bucket || ' ' || trim_scale(price) as told from model_prices where model = ? order by bucket, effective_from",
      [model],
    )
  ).map(({ told }) => told);
const entries = () =>
  query("select from audit_entries where resource_type = 'model_price' and organization_id is null and actor_kind = 'system'");

async function file(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

test('a dry run of the catalogue stores nothing; the import stores what it said, and again changes nothing', async () => {
  const dry = await command('prices', 'import', '--dry-run');
  const stored = await query('select from model_prices');
  const first = await command('prices', 'import');
  const again = await command('prices', 'import');

  expect(dry).toMatchObject({
    code: 0,
    output: expect.stringContaining('created    openai/gpt-5.4-mini standard input: 0.75 USD per million tokens'),
  });
  expect(stored).toEqual([]);
  expect(first.output).toBe(dry.output.replace('Dry run: would be ', ''));
  expect(again.output).toContain('created 0, unchanged ');
  expect(await pricesOf('openai/gpt-5.4-mini')).toEqual(['cached_read 0.075', 'input 0.75', 'output 4.5']);
  expect(await entries()).toHaveLength(1);
});

test('prices that the buckets can not say, and models that are only like a known one, are named and not stored', async () => {
  const { output } = await command('prices', 'import', '--dry-run');

  expect(output).toContain('left out   openai/gpt-5.4: its price changes where a prompt is longer than 271999 tokens');
  expect(output).toContain('left out   anthropic/claude-sonnet-5-5: the catalogue knows only claude-sonnet-5, which is like it');
  for (const model of ['openai/gpt-5.4', 'anthropic/claude-sonnet-5-5']) expect(await pricesOf(model)).toEqual([]);
});

test('the catalogue replaces its own prices and keeps those of an operator', async () => {
  const own = await file('own.json', JSON.stringify([{ model: 'openai/gpt-5.4-nano', bucket: 'input', price: 0.1, source: 'contract' }]));
  await command('prices', 'import', own);
  await sweep(database.db, (em) =>
    change(
      em,
      "update model_prices set price = 99, effective_from = now() - interval '1 hour' where model = 'openai/gpt-5.4-mini' and bucket = 'output'",
    ),
  );

  const { output } = await command('prices', 'import');

  expect(output).toContain('kept       openai/gpt-5.4-nano input: a price of your own; the catalogue says 0.2');
  expect(output).toContain(
    'created    openai/gpt-5.4-mini standard output: 4.5 USD per million tokens, was 99.00 (@pydantic/genai-prices ',
  );
  expect(await pricesOf('openai/gpt-5.4-mini')).toEqual(['cached_read 0.075', 'input 0.75', 'output 99', 'output 4.5']);
});

test('a CSV is read by its header; each bad row is named with its number, the good ones are stored, and the exit is 1', async () => {
  const path = await file(
    'prices.csv',
    [
      '\uFEFFmodel,bucket,price,currency,source,confirm_unusual',
      'csv/one,input,1.25,,"list, of ""May""",',
      'csv/one,output,5000,USD,,true',
      'csv/one,call,0.000001e3,,,',
      'csv/one,thinking,1,,,',
      'csv/one,cached_read,0.0000001,,,',
      '',
    ].join('\r\n'),
  );

  const first = await processOf('prices', 'import', path);
  const again = await command('prices', 'import', path);

  expect([first.code, again.code]).toEqual([1, 1]);
  expect(first.output).toContain('rejected   row 3: csv/one call: price must be a decimal without sign or exponent');
  expect(first.output).toContain('rejected   row 4: /bucket must be one of: input, ');
  expect(first.output).toContain('rejected   row 5: csv/one cached_read: price is unusual for 1m_tokens');
  expect(first.output).toContain('created 2, unchanged 0, rejected 3.');
  expect(again.output).toContain('created 0, unchanged 2, rejected 3.');
  expect(await query("select source from model_prices where model = 'csv/one' and bucket = 'input'")).toEqual([
    { source: 'list, of "May"' },
  ]);
});

test('a row that the API would refuse is refused in a file too, and keeps no other from being stored', async () => {
  const row = (fields: string) => `{"bucket":"input","model":"json/bad","price":1${fields}}`;
  const path = await file(
    'rows.JSON',
    `\uFEFF[${[
      row(',"model":"json/\\u0000"'),
      row(',"model":"json/\\ud800"'),
      row(',"price":1.00000000000000000000001'),
      row(',"effective_from":"2999-02-31T00:00:00Z"'),
      row(',"effective_from":"9999-12-31T23:59:59-12:00"'),
      row(',"model":"json/good"'),
      row(',"unknown":1'),
      'null',
    ].join()}]`,
  );

  const { code, output } = await command('prices', 'import', path);

  expect([code, output.match(/created {4}.*/g)]).toEqual([1, ['created    json/good standard input: 1 USD per million tokens']]);
  expect(output.match(/(?<=rejected {3}row )\d: \S+/g)).toEqual([
    '1: /model',
    '2: /model',
    '3: /price',
    '4: /effective_from',
    '5: /effective_from',
    '7: /unknown',
    '8: the',
  ]);
  expect(await query("select model from model_prices where model like 'json/%'")).toEqual([{ model: 'json/good' }]);
});

fullTest(
  'an import that is killed in the middle has stored whole parts, each with its entry in the log; the repeat finishes it, and a third finds nothing',
  async () => {
    const count = 9_000;
    const file = join(folder, 'many.csv');
    await writeFile(file, ['model,bucket,price', ...Array.from({ length: count }, (_, n) => `many/${n},input,1.5`)].join('\n'));
    const stored = async () =>
      (await query<{ n: number }>("select count(*)::int as n from model_prices where model like 'many/%'"))[0]?.n ?? 0;
    const entered = async () =>
      (
        await query<{ n: number }>(
          "select coalesce(sum((changes -> 'created' ->> 'to')::int), 0)::int as n from audit_entries where resource_type = 'model_price'",
        )
      )[0]?.n ?? 0;
    const enteredBefore = await entered();

    const first = longhaulProcess(['prices', 'import', file], { database, keys, env: hosted });
    for (const end = Date.now() + 240_000; (await stored()) === 0 && Date.now() < end;)
      await new Promise((resolve) => setTimeout(resolve, 5));
    first.child.kill('SIGKILL');
    const { code } = await first.ended;
    const atDeath = await stored();

    expect([code, atDeath % 2_000, atDeath > 0 && atDeath < count]).toEqual([null, 0, true]);
    expect(await entered()).toBe(enteredBefore + atDeath);

    const again = await processOf('prices', 'import', file);
    expect([again.code, again.output.trim().split('\n').at(-1)]).toEqual([
      0,
      `created ${count - atDeath}, unchanged ${atDeath}, rejected 0.`,
    ]);
    const third = await processOf('prices', 'import', file);
    expect(third.output.trim().split('\n').at(-1)).toBe(`created 0, unchanged ${count}, rejected 0.`);
    expect([await stored(), await entered()]).toEqual([count, enteredBefore + count]);
  },
);

fullTest(
  'one file that two import at once is stored once, and a dry run of it then finds nothing, prices that begin later among them',
  async () => {
    const path = await file(
      'later.csv',
      [
        'model,bucket,price,effective_from',
        'twin/one,input,2,2999-01-01T00:00:00Z',
        'twin/one,input,1,',
        'twin/two,call,0.5,2999-01-01T00:00:00Z',
      ].join('\n'),
    );
    const counts = ({ output }: { readonly output: string }) => output.trim().split('\n').at(-1);

    // Both have their plans, or wait for the other's, before either can store anything.
    const waiting = "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
    const twins = await sweep(database.db, async (em) => {
      await change(em, 'lock table model_prices in share mode');
      const both = Promise.all([command('prices', 'import', path), command('prices', 'import', path)]);
      await until(async () => (await query(waiting)).length === 2);
      return { both };
    }).then(({ both }) => both);
    const dry = await command('prices', 'import', path, '--dry-run');

    expect(twins.map(({ code }) => code)).toEqual([0, 0]);
    expect(twins.map(counts).toSorted()).toEqual(['created 0, unchanged 3, rejected 0.', 'created 3, unchanged 0, rejected 0.']);
    expect([dry.code, counts(dry)]).toEqual([0, 'Dry run: would be created 0, unchanged 3, rejected 0.']);
    expect([await pricesOf('twin/one'), await pricesOf('twin/two')]).toEqual([['input 1', 'input 2'], ['call 0.5']]);
  },
);

test('a file that is none is refused in a line', async () => {
  const broken = await file('broken.json', '[{');
  const empty = await file('EMPTY.CSV', '\uFEFFmodel,bucket,price\n');
  const none = await processOf('prices', 'import', join(folder, 'missing.json'));

  expect(none).toMatchObject({ code: 1, output: expect.stringMatching(/missing\.json can't be read: .*\n$/) });
  expect(await command('prices', 'import', broken)).toMatchObject({
    code: 1,
    output: expect.stringContaining("broken.json can't be read: "),
  });
  for (const name of ['prices', 'fx'] as const)
    expect(await command(name, 'import', empty)).toEqual({ code: 1, output: `${empty} holds no rows.\n` });
});

test('a start gives models without a price those of the catalogue, once, and leaves what somebody has priced', async () => {
  const fresh = await testDatabase();
  const told: string[] = [];
  const attached = { db: fresh.db, variables: hosted };
  const count = () =>
    sweep(fresh.db, (em) =>
      rows<{ model: string; n: number }>(em, 'select model, count(*)::int as n from model_prices group by model order by model'),
    );
  await sweep(fresh.db, (em) =>
    change(
      em,
      "insert into model_prices (id, model, bucket, unit, price, currency, effective_from) values (uuidv7(), 'openai/gpt-5.4-nano', 'call', 'call', 1, 'USD', now())",
    ),
  );

  await fillPrices(attached, (line) => told.push(line));
  const first = await count();
  await fillPrices(attached, (line) => told.push(line));

  expect(first).toEqual([
    { model: 'anthropic/claude-opus-5-5', n: 4 },
    { model: 'openai/gpt-5.4-mini', n: 3 },
    { model: 'openai/gpt-5.4-nano', n: 1 },
  ]);
  expect(await count()).toEqual(first);
  expect(told.filter((line) => line.startsWith('Prices of @pydantic/genai-prices'))).toHaveLength(1);
  await fillRates(attached);
  expect(await sweep(fresh.db, (em) => rateInForce({ em }, { base: 'USD', quote: 'EUR' }))).toMatchObject({ rate: '0.895094880057' });
  await fresh.drop();
});

test('rates of the bank are stored through the euro, with its day and figures, and again nothing changes', async () => {
  const first = await command('fx', 'import');
  const again = await command('fx', 'import');

  expect(first).toEqual({ code: 0, output: '29 rates created, 0 were there: USD from 2026-10-30 on.\n' });
  expect(again.output).toBe('0 rates created, 29 were there: USD from 2026-10-30 on.\n');
  expect(await query("select trim_scale(rate)::text as rate, source from fx_rates where quote = 'GBP'")).toEqual([
    {
      rate: '0.746330110992',
      source: 'European Central Bank, euro reference rates of 2026-10-30: EUR 1 = GBP 0.8338 = USD 1.1172',
    },
  ]);
  expect(await sweep(database.db, (em) => rateInForce({ em }, { base: 'USD', quote: 'BTC' }))).toBeNull();
});

test('own rates want a day, a source and two currencies; one bad row imports none', async () => {
  const good = { base: 'USD', quote: 'ISK', rate: '121.5', effective_from: '2026-11-02', source: 'Sedlabanki, 2 November' };
  const write = (...rates: object[]) => file('rates.json', JSON.stringify(rates));

  const bad = await Promise.all(
    [
      { ...good, source: undefined },
      { ...good, quote: 'USD' },
      { ...good, rate: 0 },
      { ...good, effective_from: '2999-01-01' },
      { ...good, effective_from: '2026-02-31' },
      { ...good, source: 'a\u0000b' },
    ].map(async (rate, at) => command('fx', 'import', await file(`rates-${at}.json`, JSON.stringify([good, rate])))),
  );
  const taken = await query("select from fx_rates where effective_from > '2026-11-01'");
  const stored = await command('fx', 'import', await write(good));

  expect(bad.map(({ code, output }) => `${code} ${output.split(':')[0]}`)).toEqual(bad.map(() => '1 Row 2'));
  expect(taken).toEqual([]);
  expect(stored.code).toBe(0);
  expect(await sweep(database.db, (em) => rateInForce({ em }, { base: 'USD', quote: 'ISK' }))).toMatchObject({
    rate: '121.500000000000',
    asOf: expect.stringContaining('2026-11-02'),
  });
});
