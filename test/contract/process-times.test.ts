import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { expect, test } from '@jest/globals';

const root = join(import.meta.dirname, '../..');
/** What writes rows, or compares with them. */
const folders = ['db', 'domain', 'activities', 'api', 'temporal'];
/** An instant by the clock of the process; deadlines of gRPC are handed to the library at once. */
const processTime = /new Date\(\)|(?<!withDeadline\()Date\.now\(\)/;

/** Where the process's own clock is right, and why. */
const allowed: Readonly<Record<string, string>> = {
  'activities/attachments/attachment-activities.ts': 'ages of files, whose times the storage writes',
  'activities/delivery/post-message.ts': 'a date of HTTP becomes a pause',
  'activities/maintenance/anchor.ts': 'a line of a file outside the database',
  'activities/model/errors/signals.ts': 'a date of HTTP becomes a pause',
  'activities/support/process-freeze.ts': 'whether this process was frozen',
  'activities/tools/http/access-tokens.ts': 'the lifetime of a token in memory, which goes on while the machine sleeps',
  'api/streams/notice.ts': 'a notice of the connection, kept nowhere',
};

test('what is compared with rows, or kept in them, is taken from the clock of the database', () => {
  const found = folders
    .flatMap((folder) => readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((file) => join(root, folder, file)))
    .filter((file) => file.endsWith('.ts') && processTime.test(readFileSync(file, 'utf8')))
    .map((file) => relative(root, file));

  expect(found.toSorted()).toEqual(Object.keys(allowed).toSorted());
});
