import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import Type, { type TObject } from 'typebox';
import type { Caller } from '../../../db/caller.ts';
import type { KeyList } from '../../../db/key-ring.ts';
import type { Page, PageRequest } from '../../../db/page.ts';
import { fail } from '../../../workflows/contracts/failure.ts';
import type { RegisteredOperation } from '../operation/operation.ts';
import { closed, integer } from '../input/schema.ts';

const cursorVersion = 1;
const tagBytes = 16;
const hashBytes = 16;
const pagingNames = ['limit', 'cursor', 'offset'];

/** A signed position of a list. */
interface Cursor {
  readonly v: number;
  readonly k: string;
  readonly p: readonly string[];
  readonly h: string;
}

/** The paging parameters that a list declares in addition to its filters. */
export function pagingParameters(paging: RegisteredOperation['paging']): TObject['properties'] {
  if (paging === null || paging === 'none') return {};
  return {
    limit: Type.Optional(integer({ minimum: 1, maximum: 200, default: 50, description: 'Maximum number of items on the page' })),
    cursor: Type.Optional(Type.String({ minLength: 1, maxLength: 1_024, description: '`next_cursor` of the previous page' })),
    offset: Type.Optional(
      integer({ minimum: 0, maximum: 1_000_000, description: 'Items to skip; adds total, cannot be combined with cursor' }),
    ),
  };
}

/** What a cursor is bound to: it is worth nothing on another list, under other filters, in another order or tenant. */
export function cursorBinding(operation: RegisteredOperation, caller: Caller, input: { params: object; query: object }): Buffer {
  const filters = Object.entries({ ...input.params, ...input.query }).filter(([name]) => !pagingNames.includes(name));
  const bound = [
    operation.operationId,
    filters.toSorted(([left], [right]) => (left < right ? -1 : 1)),
    operation.order,
    caller.organizationId,
    caller.workspaceId,
    caller.actingUserId,
    caller.view?.organizationId ?? null,
    caller.view?.workspaceId ?? null,
  ];
  return createHash('sha256').update(JSON.stringify(bound)).digest().subarray(0, hashBytes);
}

/** The slice that a valid query asks for; every fault of a cursor is `cursor_invalid`. */
export function readPage(
  operation: RegisteredOperation,
  query: Readonly<Record<string, unknown>>,
  keys: KeyList,
  binding: () => Buffer,
): PageRequest {
  const limit = typeof query['limit'] === 'number' ? query['limit'] : 50;
  const offset = typeof query['offset'] === 'number' ? query['offset'] : null;
  const cursor = query['cursor'];

  if (operation.paging === 'offset') {
    if (cursor !== undefined) throw fail('cursor_invalid', { detail: 'This list only supports paging by offset.' });
    return { limit, offset: offset ?? 0, after: null };
  }
  if (typeof cursor !== 'string') return { limit, offset, after: null };
  if (offset !== null) throw fail('cursor_invalid', { detail: 'cursor and offset cannot be combined.' });
  return { limit, offset: null, after: verifyCursor(cursor, keys, binding()) };
}

export function signCursor(position: readonly string[], keys: KeyList, binding: Buffer): string {
  const [key] = keys;
  const cursor: Cursor = { v: cursorVersion, k: key.id, p: position, h: binding.toString('base64url') };
  const text = Buffer.from(JSON.stringify(cursor));
  return Buffer.concat([text, tagOf(text, key.secret)]).toString('base64url');
}

/** The position that `signCursor` was given. */
export function verifyCursor(cursor: string, keys: KeyList, binding: Buffer): readonly string[] {
  const bytes = Buffer.from(cursor, 'base64url');
  // The decoder skips what is not of its alphabet; one spelling only.
  if (bytes.length <= tagBytes || bytes.toString('base64url') !== cursor) throw fail('cursor_invalid');
  const text = bytes.subarray(0, -tagBytes);
  const tag = bytes.subarray(-tagBytes);

  const isGenuine = keys.some((key) => timingSafeEqual(tag, tagOf(text, key.secret)));
  if (!isGenuine) throw fail('cursor_invalid');
  // Signed by us, so it has the shape that signCursor wrote.
  const { v, p, h } = JSON.parse(text.toString()) as Cursor;
  if (v !== cursorVersion || h !== binding.toString('base64url')) throw fail('cursor_invalid');
  return p;
}

/** The page envelope of a list. */
export function toPageView<View>(page: Page<View>, sign: (position: readonly string[]) => string) {
  return { items: page.items, next_cursor: page.next ? sign(page.next) : null, total: page.total };
}

/** Query schema of an operation: its filters and, on a list, the paging parameters. */
export function querySchemaOf(operation: RegisteredOperation): TObject {
  return closed({ ...operation.query?.properties, ...pagingParameters(operation.paging) });
}

/** Whether undeclared query keys are ignored instead of refused: where the schema of the query is open. */
export function takesAnyQuery({ query }: Pick<RegisteredOperation, 'query'>): boolean {
  return query !== null && Reflect.get(query, 'additionalProperties') === true;
}

function tagOf(text: Buffer, secret: Buffer): Buffer {
  return createHmac('sha256', secret).update(text).digest().subarray(0, tagBytes);
}
