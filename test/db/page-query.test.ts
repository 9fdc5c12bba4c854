import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Kysely } from 'kysely';
import { Condition } from '../../db/condition.ts';
import type { Page } from '../../db/page.ts';
import { preparedList, type OrderReference } from '../../db/page-query.ts';
import type { ParametersOf } from '../../db/prepared.ts';
import { query } from '../../db/query.ts';
import { sweep } from '../../db/transaction.ts';
import { change, rows } from '../../db/sql.ts';
import { testDatabase, type TestDatabase } from '../support/database.ts';
import { withAdmin } from '../support/template.ts';

interface Item {
  readonly id: number;
  readonly label: string;
}

interface ItemRow extends Item {
  readonly at: string;
  readonly amount: string;
  readonly score: number;
}

type Order = OrderReference<`i.${keyof ItemRow}`>;

// A table of this test alone, which no entity declares.
const items = query as unknown as Kysely<{ items: ItemRow }>;
const statements: string[] = [];
let database: TestDatabase;

beforeAll(async () => {
  database = await testDatabase({ onQuery: (sql) => statements.push(sql) });
  await withAdmin(database.adminUrl, (admin) =>
    admin.query(
      `create table items (id int primary key, at timestamptz not null, amount numeric not null, label text not null, score float8 not null);
       grant select, insert, delete on items to longhaul_sweeper`,
    ),
  );
});
afterAll(() => database.drop());

const byId: Order = { column: 'i.id', type: 'int', descending: true };
const columns: Order[] = [
  { column: 'i.at', type: 'timestamptz', descending: true },
  { column: 'i.amount', type: 'numeric', descending: false },
  { column: 'i.label', type: 'text', descending: true },
  { column: 'i.score', type: 'float8', descending: false },
];
const rowArbitrary = fc.record({
  at: fc.integer({ min: 0, max: 3 }).map((microseconds) => `2026-03-29 01:30:00.00000${microseconds}+00`),
  amount: fc.constantFrom('0', '0.1', '0.10', '99999999999.123456789012'),
  label: fc.constantFrom('', 'a', 'ä', "it's", '{"x":1}', '\\', '%', 'null'),
  score: fc.double({ noNaN: true, noDefaultInfinity: true }),
});

test('pages of any size, in any order, give each row once and in the order of the whole list', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(rowArbitrary, { maxLength: 24 }),
      fc.integer({ min: 1, max: 7 }),
      fc.shuffledSubarray(columns, { maxLength: 2 }),
      fc.boolean(),
      async (items, limit, chosen, descending) => {
        await fill(items);
        const order = [...chosen, { ...byId, descending }];

        const paged = await readAll(order, limit);

        const sorted = order.map((column) => `${column.column} ${column.descending ? 'desc' : 'asc'}`).join(', ');
        const whole = await sweep(database.db, (em) => rows<{ id: number }>(em, `select id from items i order by ${sorted}`));
        expect(paged).toEqual(whole.map((row) => row.id));
      },
    ),
    { numRuns: 60, seed: 7 },
  );
});

test('a page reads one row more than it shows, and the last one has no position', async () => {
  await fill(sample(5));

  const first = await page({ limit: 2, offset: null, after: null });
  const last = await page({ limit: 2, offset: null, after: ['2'] });
  const exact = await page({ limit: 5, offset: null, after: null });

  expect(first).toEqual({
    items: [
      { id: 4, label: 'l4' },
      { id: 3, label: 'l3' },
    ],
    next: ['3'],
    total: null,
  });
  expect(last).toMatchObject({ items: [{ id: 1 }, { id: 0 }], next: null });
  expect(exact.next).toBeNull();
});

test('by offset the total is exact and there is no position; two statements', async () => {
  await fill(sample(5));
  statements.length = 0;

  const found = await page({ limit: 2, offset: 3, after: null }, "i.label <> 'l4'");

  expect(found).toEqual({ items: [{ id: 0, label: 'l0' }], next: null, total: 4 });
  expect(statements).toHaveLength(2);
});

test('a position of another order is refused', async () => {
  await expect(page({ limit: 2, offset: null, after: ['1', '2'] })).rejects.toMatchObject({ code: 'cursor_invalid' });
});

function page(request: { limit: number; offset: number | null; after: string[] | null }, where = 'true'): Promise<Page<Item>> {
  return sweep(database.db, (em) =>
    preparedList(() => items.selectFrom('items as i').select(['i.id', 'i.label']).where(new Condition(where)), [byId])(em, {}, request),
  );
}

async function readAll(order: readonly Order[], limit: number): Promise<number[]> {
  const list = preparedList(
    ({ holds }: ParametersOf<{ readonly holds: Condition }>) => items.selectFrom('items as i').select(['i.id', 'i.label']).where(holds),
    order,
  );
  const found: number[] = [];
  for (let after: readonly string[] | null = null, turns = 0; turns < 100; turns++) {
    const request = { limit, offset: null, after };
    const got: Page<Item> = await sweep(database.db, (em) => list(em, { holds: new Condition('?::int = 1 or false', [1]) }, request));
    found.push(...got.items.map((item) => item.id));
    if (got.next === null) return found;
    after = got.next;
  }
  throw new Error('The list has no end');
}

function sample(count: number) {
  return Array.from({ length: count }, (_, at) => ({ at: '2026-01-01', amount: '1', label: `l${at}`, score: 0 }));
}

async function fill(items: readonly { at: string; amount: string; label: string; score: number }[]): Promise<void> {
  await sweep(database.db, async (em) => {
    await change(em, 'delete from items');
    await change(
      em,
      'insert into items (id, at, amount, label, score) select id, at, amount, label, score from jsonb_to_recordset(?::jsonb) as t (id int, at timestamptz, amount numeric, label text, score float8)',
      [JSON.stringify(items.map((item, id) => ({ id, ...item })))],
    );
  });
}
