import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RecordedExample } from '../../api/http/openapi/examples.ts';
import type { RegisteredOperation } from '../../api/http/operation/operation.ts';

const root = join(import.meta.dirname, '../..');
const folder = join(root, 'api/http/openapi/examples');

/** Whether this run of the tests writes the examples anew instead of holding them against the replies of today. */
export const isWriting = process.env['EXAMPLES'] === 'write';

/** What a test has seen of operations, by operation id. */
export type Seen = Map<string, RecordedExample>;

/** Writes the examples of these operations, one file an area; those of others stay. */
export function writeExamples(operations: readonly RegisteredOperation[], seen: Seen): void {
  const known = readExamples();
  const live = new Set(operations.map(({ operationId }) => operationId));
  for (const file of readdirSync(folder)) rmSync(join(folder, file));
  for (const [area, members] of Map.groupBy(operations, (operation) => operation.area)) {
    const examples = members.flatMap(({ operationId }) => {
      const example = seen.get(operationId) ?? known[operationId];
      return example && live.has(operationId) ? [[operationId, example] as const] : [];
    });
    if (examples.length > 0) writeFileSync(join(folder, fileOf(area)), JSON.stringify(Object.fromEntries(examples), null, 2));
  }
  execFileSync(join(root, 'node_modules/.bin/oxfmt'), ['--write', folder], { stdio: 'ignore' });
}

/** All examples of the repository, by operation id. */
export function readExamples(): Record<string, RecordedExample> {
  const files = readdirSync(folder).filter((name) => name.endsWith('.json'));
  return Object.assign({}, ...files.map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as object)); // written above
}

/** Keys of the recorded replies that the replies of today lack, and replies that no longer come. */
export function staleKeys(recorded: RecordedExample, present: RecordedExample): string[] {
  return Object.entries(recorded.replies).flatMap(([status, media]) =>
    Object.entries(media).flatMap(([type, value]) => {
      const now = present.replies[status]?.[type];
      return now === undefined ? [`${status} ${type}`] : missing(value, now, '').map((key) => `${status} ${key}`);
    }),
  );
}

/** Keys that one value has and another lacks; the items of a list count together. */
function missing(recorded: unknown, present: unknown, at: string): string[] {
  if (Array.isArray(recorded)) {
    const items: unknown[] = Array.isArray(present) ? present : [];
    if (items.length === 0) return [];
    return [...new Set(recorded.flatMap((item: unknown) => leastOf(items.map((now) => missing(item, now, `${at}/*`)))))];
  }
  if (typeof recorded !== 'object' || recorded === null || typeof present !== 'object' || present === null) return [];
  return Object.entries(recorded).flatMap(([key, value]) =>
    Object.hasOwn(present, key) ? missing(value, Reflect.get(present, key), `${at}/${key}`) : [`${at}/${key}`],
  );
}

function leastOf(lists: readonly string[][]): string[] {
  return lists.toSorted((left, right) => left.length - right.length)[0] ?? [];
}

function fileOf(area: string): string {
  return `${area.toLowerCase().replaceAll(/[^a-z]+/g, '-')}.json`;
}
