import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

const root = join(import.meta.dirname, '../..');

/** Statements that are text, and why. Every other one is built by `query`, typed by the entities (docs/adr/0009). The list only shrinks. */
const texts: Readonly<Record<string, string>> = {
  'db/audit/verify.ts': 'sets the isolation of its transaction',
  'db/code-review/bindings/hand-over.ts': 'also the body of a definer function; a `with` that writes cannot be nested in a query',
  'db/http/idempotency.ts': 'also the body of a definer function; a `with` that writes cannot be nested in a query',
  'db/operator/purge-tables.ts': 'tables and columns are data',
  'db/orm.ts': 'reads the catalogue and the migrations, which are no entities',
  'db/tenancy/keys/reencrypt.ts': 'tables and columns are data',
  'db/transaction.ts': 'begins, settles and ends transactions',
};

const called =
  /\b(?:rows|row|change|queueStatement|run)(?:<(?:[^<>()]|<[^<>]*>)*>)?\(\s*[\w.]+,\s*(?:[`'"]|\w*(?:Sql|sql|Text|Statement)\b)|\bem\.(?:execute|getConnection)\(/;

const sources = readdirSync(join(root, 'db'), { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith('.ts') && !entry.parentPath.includes('/migrations'))
  .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1));

test('statements are typed by the entities, but for a handful with their reasons', () => {
  const found = sources.filter((file) => file !== 'db/sql.ts' && called.test(readFileSync(join(root, file), 'utf8')));

  expect(found.toSorted()).toEqual(Object.keys(texts).toSorted());
});

test.each([
  ["await rows<Skill>(tx.em, 'select id from skills', [])", true],
  ['await change(\n  em,\n  `update skills set slug = ?`,\n  [slug],\n)', true],
  ['await queueStatement<{ id: string }>(tx.em, insertSql, [id])', true],
  ['await rows(tx.em, skillsOf({ ids }))', false],
  ["await row(ctx.em, query.selectFrom('skills').select('id'))", false],
])('%j is text: %p', (source, isText) => {
  expect(called.test(source)).toBe(isText);
});

test('no row is what its author promised: what is cast through unknown comes from elsewhere', () => {
  const cast = sources.filter((file) => /\bas unknown as\b/.test(readFileSync(join(root, file), 'utf8')));

  expect(cast.toSorted()).toEqual([
    'db/agents/effective/delegate-target.ts', // the config of a tool, which its kind determines
    'db/knowledge/items/items.ts', // a view with the columns of its table
    'db/postgres/pg-connection.ts', // members that the types of pg omit
    'db/streams/publisher.ts', // a command that ioredis defines at run time
    'db/toolkits/mcp-toolkits.ts', // the config of a toolkit, which its kind determines
  ]);
});
