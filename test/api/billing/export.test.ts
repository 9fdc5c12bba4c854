import { execFileSync } from 'node:child_process';
import { get, type IncomingMessage } from 'node:http';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { parse } from 'csv-parse/sync';
import { newId } from '../../../db/ids.ts';
import { exportsOf, type Exports } from '../../../api/billing/dependencies.ts';
import { csvRecord } from '../../../domain/billing/csv.ts';
import { seedLedger } from '../../support/ledger.ts';
import { until } from '../../support/temporal.ts';
import { openWorld, type World } from '../world.ts';

let world: World;
let exports: Exports;
let onQuery: ((sql: string) => void) | null = null;

beforeAll(async () => {
  world = await openWorld({
    onQuery: (sql) => onQuery?.(sql),
    extend: (_app, deps) => {
      exports = exportsOf(deps);
    },
  });
});
afterAll(() => world.close());
afterEach(() => {
  onQuery = null;
});

const range = 'from=2026-01-01T00:00:00Z&to=2026-02-01T00:00:00Z';
const isPage = (sql: string) => sql.startsWith('select') && sql.includes('"usage_entries"') && sql.includes('"provider_request_id"');

interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
  /** The message ended as HTTP says: no break in the middle. */
  readonly isWhole: boolean;
}

/** Over a connection of its own, so that a break is one. */
function fetchExport(token: string, query: string, method = 'GET'): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const request = get(`${world.api.url}/usage/export?${query}`, { method, headers: { authorization: `Bearer ${token}` } }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('error', () => undefined);
      response.on('close', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text, isWhole: response.complete }),
      );
    });
    request.on('error', reject);
  });
}

const pythonCsv = (text: string): string[][] =>
  JSON.parse(
    execFileSync(
      'python3',
      [
        '-c',
        'import csv, io, json, sys; print(json.dumps(list(csv.reader(io.StringIO(sys.stdin.buffer.read().decode("utf-8"), newline="")))))',
      ],
      {
        input: text,
        encoding: 'utf8',
      },
    ),
  );

const evil = ['=cmd|"/c calc"!A0', '+1+1', '-2+3', '@SUM(A1)', '\t=1', '\r=1', 'a,b', 'say "hi"', 'two\r\nlines', ' plain ', 'ümläut 🙂'];

test('two readers of CSV get each text back, none of them a formula, and numbers as they are', async () => {
  const tenant = await world.tenant();
  await seedLedger(world.api.db, tenant, [
    ...evil.map((text, n) => ({
      occurredAt: `2026-01-01T00:00:${String(n).padStart(2, '0')}Z`,
      model: text,
      provider: text,
      providerRequestId: text,
    })),
    { occurredAt: '2026-01-02T00:00:00Z', kind: 'adjustment', model: null, cost: '-1.5' },
  ]);

  const reply = await fetchExport(tenant.tokens.admin, range);

  expect(reply).toMatchObject({ status: 200, isWhole: true });
  expect(reply.headers).toMatchObject({
    'content-type': 'text/csv; charset=utf-8; header=present',
    'content-disposition': 'attachment; filename=usage-2026-01-01-2026-02-01.csv',
  });
  const records: Record<string, string>[] = parse(reply.text, { columns: true, record_delimiter: '\r\n' });
  const expected = [...evil.map((text) => (/^[=+\-@\t\r]/.test(text) ? `'${text}` : text)), ''];
  for (const column of ['model', 'provider_request_id']) expect(records.map((record) => record[column])).toEqual(expected);
  expect(records.at(-1)).toMatchObject({ cost: '-1.50', kind: 'adjustment', estimated: 'false', step: '', input_tokens: '0' });
  const [header, ...lines] = pythonCsv(reply.text);
  expect(lines.map((line) => Object.fromEntries(line.map((cell, at) => [header?.[at] ?? '', cell])))).toEqual(records);
  for (const cell of lines.flat()) expect(/^[=+@\t\r]/.test(cell)).toBe(false);
  const [view] = (await world.call(tenant.tokens.admin, 'GET', '/usage/records?limit=1')).body.items;
  expect(header).toEqual(Object.keys(view));
});

test('a cell is guarded whatever stands behind its first character, and a negative number is none', () => {
  expect(csvRecord([{ text: '=1' }, { number: '-1' }, { text: null }, { number: null }, true, { text: '-' }])).toBe("'=1,-1,,,true,'-\r\n");
});

test('as JSON lines: the views of the records, oldest first; filters, places and ranges are those of the records', async () => {
  const tenant = await world.tenant({ workspaces: 2 });
  const stranger = await world.tenant();
  const runId = newId();
  const ids = await seedLedger(world.api.db, tenant, [
    { occurredAt: '2026-01-03T00:00:00Z', runId, model: '=x' },
    { occurredAt: '2026-01-02T00:00:00Z' },
    { occurredAt: '2026-02-01T00:00:00Z' },
    { occurredAt: '2025-12-31T23:59:59.999Z' },
  ]);
  await seedLedger(world.api.db, { ...tenant, workspaceId: tenant.workspaceIds[1] ?? '' }, [{ occurredAt: '2026-01-02T00:00:00Z' }]);
  await seedLedger(world.api.db, stranger, [{ occurredAt: '2026-01-02T00:00:00Z' }]);
  const linesOf = async (query: string, token = tenant.tokens.admin) => {
    const { text, headers } = await fetchExport(token, `${range}&format=ndjson${query}`);
    expect(headers['content-type']).toBe('application/x-ndjson; charset=utf-8');
    return text
      .split('\n')
      .slice(0, -1)
      .map((line): Record<string, unknown> => JSON.parse(line));
  };

  const lines = await linesOf('');

  expect(lines.map(({ id }) => id)).toEqual([ids[1], ids[0]]);
  expect(lines.toReversed()).toEqual((await world.call(tenant.tokens.admin, 'GET', `/usage/records?${range}`)).body.items);
  expect(lines[1]).toMatchObject({ model: '=x' });
  expect((await linesOf(`&run_id=${runId}`)).map(({ id }) => id)).toEqual([ids[0]]);
  expect(await linesOf('', tenant.organizationOwner.token)).toHaveLength(3);
  expect(await linesOf(`&workspace_id=${stranger.workspaceId}`, tenant.organizationOwner.token)).toEqual([]);
});

test('pages of 5,000 by key, each a statement of its own, up to the row that was newest at the start', async () => {
  const tenant = await world.tenant();
  const total = 10_001;
  await seedLedger(
    world.api.db,
    tenant,
    Array.from({ length: total }, () => ({ occurredAt: '2026-01-05T00:00:00Z' })),
  );
  let pages = 0;
  let late: Promise<unknown> | null = null;
  onQuery = (sql) => {
    if (!isPage(sql)) return;
    pages += 1;
    late ??= seedLedger(world.api.db, tenant, [{ occurredAt: '2026-01-06T00:00:00Z' }]);
  };

  const { text, isWhole } = await fetchExport(tenant.tokens.admin, `${range}&format=ndjson`);
  await late;

  const ids = text
    .split('\n')
    .slice(0, -1)
    .map((line) => line.slice(7, 43));
  expect([isWhole, pages, ids.length, new Set(ids).size]).toEqual([true, 3, total, total]);
});

test('a fault in the middle breaks the connection; one at the start is an answer', async () => {
  const tenant = await world.tenant();
  await seedLedger(
    world.api.db,
    tenant,
    Array.from({ length: 5_001 }, () => ({ occurredAt: '2026-01-05T00:00:00Z' })),
  );
  const failAt = (wanted: number) => {
    let pages = 0;
    onQuery = (sql) => {
      if (isPage(sql) && ++pages === wanted) throw new Error('the database is gone');
    };
  };

  failAt(1);
  const atStart = await fetchExport(tenant.tokens.admin, range);
  failAt(2);
  const inside = await fetchExport(tenant.tokens.admin, range);

  expect([atStart.status, atStart.isWhole, JSON.parse(atStart.text).code]).toEqual([500, true, 'internal_error']);
  expect([inside.status, inside.isWhole]).toEqual([200, false]);
  expect(inside.text).toContain('occurred_at');
});

test('what is no range or format is 422; HEAD gives the head and reads nothing; an empty range is a header alone', async () => {
  const tenant = await world.tenant();
  const wrong = [
    '',
    'from=2026-01-01T00:00:00Z',
    `${range}&format=xlsx`,
    'from=2024-01-01T00:00:00Z&to=2026-01-01T00:00:00Z',
    `${range}&limit=3`,
    `${range}&run_id=x`,
  ];

  for (const query of wrong) expect([query, (await fetchExport(tenant.tokens.admin, query)).status]).toEqual([query, 422]);
  expect((await fetchExport(tenant.tokens.member, range)).status).toBe(403);
  expect(await fetchExport(tenant.tokens.admin, range, 'HEAD')).toMatchObject({ status: 200, text: '' });
  const empty = await fetchExport(tenant.tokens.admin, range);
  expect([empty.isWhole, empty.text.split('\r\n').length, empty.text.startsWith('id,occurred_at,')]).toEqual([true, 2, true]);
});

test('an organization has four exports at once, and a reader that stalls is cut off', async () => {
  const tenant = await world.tenant();
  // More than the buffers of a connection take (tcp_rmem, tcp_wmem).
  const long = {
    occurredAt: '2026-01-05T00:00:00Z',
    model: 'm'.repeat(200),
    provider: 'p'.repeat(200),
    providerRequestId: 'x'.repeat(1_000),
  };
  for (let n = 0; n < 3; n += 1)
    await seedLedger(
      world.api.db,
      tenant,
      Array.from({ length: 10_000 }, () => long),
    );
  const stall = () =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const headers = { authorization: `Bearer ${tenant.tokens.admin}` };
      // Not read: what has come fills the connection.
      get(`${world.api.url}/usage/export?${range}`, { headers, agent: false }, resolve).on('error', reject);
    });

  const four = () => Promise.all([stall(), stall(), stall(), stall()]);
  const slots = () => {
    const ends: (() => void)[] = [];
    try {
      for (;;) ends.push(exports.begin(tenant.organizationId));
    } catch {
      for (const end of ends) end();
      return ends.length;
    }
  };
  const areFree = () => until(() => slots() === 4);

  const left = await four();
  const fifth = await fetchExport(tenant.tokens.admin, range);
  for (const response of left) response.destroy();
  await areFree();
  exports.idleMs = 200;
  const still = await stall();
  await areFree();
  const isWhole = await new Promise((resolve) => {
    still.on('error', () => undefined).on('close', () => resolve(still.complete));
    still.resume();
  });

  expect([fifth.status, JSON.parse(fifth.text)]).toEqual([429, expect.objectContaining({ code: 'rate_limited' })]);
  expect(isWhole).toBe(false);
});
