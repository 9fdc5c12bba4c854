import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { tables, withTables } from './provider-doc.ts';

const path = new URL('../../../docs/model-providers.md', import.meta.url);

/** `UPDATE_DOCS=1 npm test -- test/activities/model/provider-doc.test.ts` writes the tables anew. */
test('the document about model providers has the tables that the tests play', () => {
  const document = readFileSync(path, 'utf8');
  if (process.env['UPDATE_DOCS']) writeFileSync(path, withTables(document));

  const written = readFileSync(path, 'utf8');
  for (const name of Object.keys(tables)) expect(written).toContain(`<!-- table: ${name} -->`);
  expect(written).toBe(withTables(written));
});
