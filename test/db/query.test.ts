import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { EntityClass, EntityMetadata, EntityProperty } from '@mikro-orm/core';
import { type Selectable, sql } from 'kysely';
import { Condition } from '../../db/condition.ts';
import { tables } from '../../db/entities.ts';
import { newId } from '../../db/ids.ts';
import { preparedList } from '../../db/page-query.ts';
import type { Page, PageRequest } from '../../db/page.ts';
import { prepared, type ParametersOf } from '../../db/prepared.ts';
import { compile, query } from '../../db/query.ts';
import { sweep } from '../../db/transaction.ts';
import { change, row, rows } from '../../db/sql.ts';
import type { Tables } from '../../db/table-types.ts';
import { testDatabase, type TestDatabase } from '../support/database.ts';
import { withAdmin } from '../support/template.ts';
import { insertRow, sampleRow } from './rows.ts';

const statements: string[] = [];
const tableNames = Object.keys(tables) as (keyof typeof tables)[]; // its own keys
let database: TestDatabase;

beforeAll(async () => {
  database = await testDatabase({ onQuery: (text) => statements.push(text) });
  // Each table stands alone here, with rows that no rule of it would let in.
  await withAdmin(database.adminUrl, async (admin) => {
    await admin.query('grant all on all tables in schema public to longhaul_sweeper');
    const { rows: checks } = await admin.query(
      "select conrelid::regclass::text as of, conname as name from pg_constraint where contype in ('c', 'f') and connamespace = 'public'::regnamespace",
    );
    for (const { of, name } of checks) await admin.query(`alter table ${of} drop constraint if exists ${name} cascade`);
    for (const table of tableNames) await admin.query(`alter table ${table} disable row level security`);
  });
});
afterAll(() => database.drop());

const metaOf = (table: keyof typeof tables): EntityMetadata => database.db.sweeper.em.getMetadata(tables[table] as EntityClass<object>); // one of many

describe('what a query’s type promises is what comes', () => {
  // Compared by the compiler: the kinds of columns that entities have.
  type Skill = Selectable<Tables['skills']>;
  type Same<A, B> = [A, B] extends [B, A] ? true : false;
  const promises: {
    time: Same<Skill['createdAt'], string>;
    nullableTime: Same<Skill['deletedAt'], string | null>;
    bytes: Same<Selectable<Tables['service_keys']>['keyHash'], Buffer>;
    decimal: Same<Selectable<Tables['usage_entries']>['cost'], string>;
    bigint: Same<Selectable<Tables['attachments']>['sizeBytes'], number>;
    uuid: Same<Skill['id'], string>;
    nullableUuid: Same<Skill['workspaceId'], string | null>;
    closedSet: Same<Skill['curationState'], 'pending' | 'promoted' | 'retired' | 'reviewed' | 'superseded'>;
    json: Same<Skill['promotedVersions'], number[]>;
    flag: Same<Skill['isActive'], boolean>;
    integer: Same<Skill['rowVersion'], number>;
    list: Same<Selectable<Tables['feedback']>['tags'], string[]>;
  } = {
    time: true,
    nullableTime: true,
    bytes: true,
    decimal: true,
    bigint: true,
    uuid: true,
    nullableUuid: true,
    closedSet: true,
    json: true,
    flag: true,
    integer: true,
    list: true,
  };

  test.each(tableNames)('%s', async (table) => {
    const meta = metaOf(table);
    const required = meta.props.map((property) => ({ ...property, nullable: false }));
    const tenant = { organizationId: newId(), workspaceId: newId() };
    const values = sampleRow({ tableName: table, props: required } as EntityMetadata, tenant); // all that it reads
    const nullable = meta.props.filter((property) => values[property.fieldNames[0] ?? ''] === null);
    for (const property of nullable) values[property.fieldNames[0] ?? ''] = kindOf(property) === 'number' ? 1 : sampleOf(property);
    await withAdmin(database.adminUrl, (admin) => insertRow(admin, table, values));

    const columns = meta.props.map(({ name }) => name) as 'id'[]; // of a table that is known at run time alone
    const [found] = await sweep(database.db, (em) =>
      rows(
        em,
        query
          .selectFrom(table as 'skills')
          .select(columns)
          // A table may hold rows of the platform's own.
          .$if('id' in values, (own) => own.where('id', '=', String(values['id'])))
          .limit(1),
      ),
    );

    expect(Object.fromEntries(Object.entries(found ?? {}).map(([name, value]) => [name, kind(value)]))).toEqual(
      Object.fromEntries(meta.props.map((property) => [property.name, kindOf(property)])),
    );
    expect(meta.tableName).toBe(table);
  });

  test('the kinds of columns', () => expect(Object.values(promises)).not.toContain(false));
});

test('what goes in comes back: lists, JSON, times; and what is left out comes from the entity', async () => {
  const at = new Date('2026-01-31T10:20:30.123Z');
  const made = { ...newSkill(), promotedVersions: [1, 2], frontMatter: { a: ['x', null] }, lastUsedAt: at };
  const tags = ['NULL', 'a"b\\', ''];

  const [skill, vote] = await sweep(database.db, async (em) => [
    await row(em, query.insertInto('skills').values(made).returning(['id', 'promotedVersions', 'frontMatter', 'lastUsedAt', 'deletedAt'])),
    await row(
      em,
      query
        .insertInto('feedback')
        .values({ ...newVote(), tags })
        .returning(['id', 'tags', 'comment']),
    ),
  ]);

  expect(skill).toMatchObject({
    promotedVersions: [1, 2],
    frontMatter: { a: ['x', null] },
    lastUsedAt: '2026-01-31 10:20:30.123+00',
    deletedAt: null,
  });
  expect(vote).toEqual({ id: expect.stringMatching(/^[0-9a-f-]{36}$/), tags, comment: null });
});

test('an update writes its time, and a column of JSON', async () => {
  const id = newId();
  const changed = await sweep(database.db, async (em) => {
    await change(em, query.insertInto('skills').values({ ...newSkill(), id, updatedAt: '2026-01-01T00:00:00Z' }));
    const written = await change(
      em,
      query
        .updateTable('skills')
        .set({ promotedVersions: [7] })
        .where('id', '=', id),
    );
    return { written, ...(await row(em, query.selectFrom('skills').select(['updatedAt', 'promotedVersions']).where('id', '=', id))) };
  });

  expect(changed).toMatchObject({ written: 1, promotedVersions: [7] });
  expect(Date.parse(changed.updatedAt ?? '')).toBeGreaterThan(Date.now() - 60_000);
});

test('names of subqueries, of what is computed and of what changes in a with', async () => {
  const id = newId();
  const found = await sweep(database.db, async (em) => {
    await change(em, query.insertInto('skills').values({ ...newSkill(), id, useCount: 3 }));
    return row(
      em,
      query
        .with('counted', (of) => of.updateTable('skills').set({ useCount: 4 }).where('id', '=', id).returning(['id', 'useCount']))
        .selectFrom((eb) => eb.selectFrom('skills as s').select(['s.id', 's.useCount']).where('s.id', '=', id).as('before'))
        .innerJoin('counted', 'counted.id', 'before.id')
        .select(['before.useCount', 'counted.useCount as nextCount', sql<number>`1`.as('oneMore')]),
    );
  });

  expect(found).toEqual({ useCount: 3, nextCount: 4, oneMore: 1 });
});

test('refused: a select of everything, an update under an alias', async () => {
  await sweep(database.db, async (em) => {
    expect(() => compile(em, query.selectFrom('skills').selectAll())).toThrow('names each column');
    expect(() => compile(em, query.updateTable('skills as s').set({ useCount: 1 }))).toThrow('without an alias');
  });
});

describe('a prepared query', () => {
  test('is built once for each shape, and keeps no value', async () => {
    const shapes: string[] = [];
    const read = prepared(({ id, slug, visible }: ParametersOf<{ id: string; slug?: string; visible: Condition }>) => {
      shapes.push(visible.sql);
      const found = query.selectFrom('skills as s').select(['s.id', 's.slug']).where('s.id', '=', id).where(visible);
      return slug ? found.where('s.slug', '=', slug) : found;
    });
    const [one, other] = [newSkill(), newSkill()];
    const inPlace = (organizationId: string) => new Condition('s.organization_id = ?::uuid', [organizationId]);

    const found = await sweep(database.db, async (em) => {
      await change(em, query.insertInto('skills').values([one, other]));
      const asked = [
        { id: one.id, visible: inPlace(one.organizationId) },
        { id: other.id, visible: inPlace(other.organizationId) },
        { id: other.id, visible: inPlace(one.organizationId) },
        { id: one.id, visible: new Condition('true') },
        { id: one.id, slug: 'another', visible: new Condition('true') },
        { id: one.id, slug: one.slug, visible: new Condition('true') },
      ];
      return Promise.all(asked.map((values) => row(em, read(values))));
    });

    expect(found.map((skill) => skill?.id)).toEqual([one.id, other.id, undefined, one.id, undefined, one.id]);
    expect(shapes).toEqual(['s.organization_id = ?::uuid', 'true', 'true']);
  });

  test('is refused when values of its entity would be made once for all', async () => {
    const insert = prepared(({ runId }: ParametersOf<{ runId: string }>) => query.insertInto('feedback').values({ ...newVote(), runId }));

    await expect(sweep(database.db, (em) => change(em, insert({ runId: newId() })))).rejects.toThrow(
      /gives each write its values, also feedback\.\w+/,
    );
  });

  test('is refused when it holds a time or an id of its first use', async () => {
    const ofTime = prepared(({ slug }: ParametersOf<{ slug: string }>) =>
      query.updateTable('skills').set({ slug, updatedAt: new Date() }).where('slug', '=', slug),
    );
    const ofId = prepared(({ slug }: ParametersOf<{ slug: string }>) =>
      query.selectFrom('skills as s').select('s.id').where('s.slug', '=', slug).where('s.id', '=', newId()),
    );

    for (const build of [ofTime, ofId]) {
      await expect(sweep(database.db, (em) => change(em, build({ slug: 'a' })))).rejects.toThrow('takes times and ids as arguments');
    }
  });

  test('takes a flag as true or not at all: given as false it is refused, also once its query is known', async () => {
    const read = prepared(({ slug, isDeleted }: ParametersOf<{ slug: string; isDeleted?: boolean | undefined }>) => {
      const found = query.selectFrom('skills as s').select('s.id').where('s.slug', '=', slug);
      return isDeleted ? found.where('s.deletedAt', 'is not', null) : found;
    });
    const ask = (isDeleted?: boolean) => sweep(database.db, (em) => rows(em, read({ slug: 'none', isDeleted })));

    await expect(ask(false)).rejects.toThrow('a flag of a prepared query is true or absent');
    expect([await ask(true), await ask(undefined)]).toEqual([[], []]);
    await expect(ask(false)).rejects.toThrow('a flag of a prepared query is true or absent');
  });

  test('is refused when it leaves out a predicate', async () => {
    const read = prepared(({ slug }: ParametersOf<{ slug: string; visible: Condition }>) =>
      query.selectFrom('skills as s').select('s.id').where('s.slug', '=', slug),
    );
    const visible = new Condition('s.organization_id = ?::uuid', [newId()]);

    await expect(sweep(database.db, (em) => rows(em, read({ slug: 'a', visible })))).rejects.toThrow('leaves out its visible');
  });
});

test('pages of a prepared list: each row once, the position as the database writes it, the total by offset', async () => {
  const agentId = newId();
  const votes = ['2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.001Z', '2026-01-01T00:00:00.001Z'].map((updatedAt) => ({
    ...newVote(),
    id: newId(),
    agentId,
    updatedAt,
  }));
  await sweep(database.db, (em) => change(em, query.insertInto('feedback').values(votes)));
  const list = preparedList(
    ({ agentId, rating }: ParametersOf<{ agentId: string; rating?: 'up' | 'down' }>) => {
      const listed = query.selectFrom('feedback as f').select(['f.id', 'f.runId']).where('f.agentId', '=', agentId);
      return rating ? listed.where('f.rating', '=', rating) : listed;
    },
    [
      { column: 'f.updatedAt', type: 'timestamptz', descending: true },
      { column: 'f.id', type: 'uuid', descending: false },
    ],
  );
  const read = (page: PageRequest, rating?: 'up' | 'down'): Promise<Page<{ id: string; runId: string }>> =>
    sweep(database.db, (em) => list(em, { agentId, rating }, page));

  const first = await read({ limit: 2, offset: null, after: null });
  const second = await read({ limit: 2, offset: null, after: first.next });

  expect([...first.items, ...second.items]).toEqual([votes[1], votes[2], votes[0]].map((vote) => ({ id: vote?.id, runId: vote?.runId })));
  expect([first.next, second.next]).toEqual([['2026-01-01 00:00:00.001+00', votes[2]?.id], null]);
  expect(await read({ limit: 1, offset: 1, after: null })).toMatchObject({ items: [{ id: votes[2]?.id }], total: 3, next: null });
  expect(await read({ limit: 1, offset: 0, after: null }, 'down')).toEqual({ items: [], total: 0, next: null });
  await expect(read({ limit: 1, offset: null, after: ['1'] })).rejects.toMatchObject({ code: 'cursor_invalid' });
});

function newSkill() {
  const place = { scope: 'workspace', organizationId: newId(), workspaceId: newId() } as const;
  const text = { slug: newId(), description: 'Refunds.', instructions: 'Ask first.', contentHash: newId() };
  return { ...place, ...text, id: newId(), origin: 'human', createdBy: { kind: 'system', id: null } } as const;
}

function newVote() {
  const place = { organizationId: newId(), workspaceId: newId(), runId: newId(), agentId: newId() };
  return { ...place, subjectKind: 'user', subjectId: newId(), rating: 'up' } as const;
}

/** What a property’s declaration says of the values that a query gives. */
function kindOf({ runtimeType, columnTypes }: EntityProperty): string {
  if (columnTypes[0] === 'jsonb') return 'json';
  if (columnTypes[0]?.endsWith('[]')) return 'list';
  return runtimeType === 'Date' ? 'string' : runtimeType;
}

function kind(value: unknown): string {
  if (Buffer.isBuffer(value)) return 'Buffer';
  if (Array.isArray(value)) return 'list';
  return value !== null && typeof value === 'object' ? 'json' : value === null ? 'null' : typeof value;
}

function sampleOf({ columnTypes }: EntityProperty): unknown {
  return columnTypes[0] === 'uuid' ? newId() : columnTypes[0]?.startsWith('timestamptz') ? new Date() : 'x';
}
