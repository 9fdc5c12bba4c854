import { Readable } from 'node:stream';
import { create as contentDisposition } from 'content-disposition';
import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  newestRecord,
  readRecords,
  type LedgerPosition,
  type UsageRecord,
  type UsageRecordFilters,
} from '../../db/billing/ledger/usage-records.ts';
import { organizationOf } from '../../db/caller-scope.ts';
import type { Scoped } from '../../db/scope.ts';
import { csvRecord, type CsvCell } from '../../domain/billing/csv.ts';
import type { Exports } from './dependencies.ts';
import { toUsageRecordView } from './usage.schema.ts';

export type ExportFormat = 'csv' | 'ndjson';

export const exportTypes = { csv: 'text/csv', ndjson: 'application/x-ndjson' } as const;

type RecordView = ReturnType<typeof toUsageRecordView>;

/** Rows of one read. */
const pageRows = 5_000;
/** Rows per chunk of text: a whole page would be in memory twice. */
const chunkRows = 250;

const numbers = [
  'step',
  'attempt',
  'input_tokens',
  'cached_read_tokens',
  'cached_write_tokens',
  'output_tokens',
  'reasoning_tokens',
  'units',
  'cost',
] as const satisfies readonly (keyof RecordView)[];
const isNumber: ReadonlySet<string> = new Set(numbers);

/** Columns of the CSV: the fields of a UsageRecordView in its order. */
const columns = [
  'id',
  'occurred_at',
  'organization_id',
  'workspace_id',
  'source_kind',
  'source_id',
  'run_id',
  'agent_id',
  'agent_revision_id',
  'user_id',
  'service_key_id',
  'step',
  'attempt',
  'kind',
  'model',
  'provider',
  'tier',
  'provider_request_id',
  'input_tokens',
  'cached_read_tokens',
  'cached_write_tokens',
  'output_tokens',
  'reasoning_tokens',
  'units',
  'cost',
  'currency',
  'estimated',
  'unpriced',
] as const satisfies readonly (keyof RecordView)[];

export interface UsageExport {
  readonly filters: UsageRecordFilters & { readonly from: string; readonly to: string };
  readonly format: ExportFormat;
  readonly exports: Exports;
}

/**
 * Sends ledger rows, oldest first, up to the one that was newest at the start: pages by key, each a statement of its own, the next when the reader has
 * taken the last. The first is read before anything is said, so that a fault there is an answer; one later breaks the connection, and so does a reader
 * that stalls.
 */
export async function sendExport(
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  ctx: Scoped,
  { filters, format, exports }: UsageExport,
): Promise<void> {
  const end = exports.begin(organizationOf(ctx.caller));
  try {
    const isHead = request.method === 'HEAD';
    const last = isHead ? null : await newestRecord(ctx, filters);
    const first = last ? await readRecords(ctx, filters, { after: null, last, limit: pageRows }) : [];
    reply.headers(headersOf({ filters, format }));
    reply.raw.setTimeout(exports.idleMs, () => reply.raw.destroy());
    const body = Readable.from(isHead ? [] : lines(pages(ctx, filters, { first, last }), format), { objectMode: false });
    body.once('close', end);
    reply.send(body);
  } catch (error) {
    end();
    throw error;
  }
}

function headersOf({ filters, format }: Pick<UsageExport, 'filters' | 'format'>): Record<string, string> {
  const [from, to] = [filters.from.slice(0, 10), filters.to.slice(0, 10)];
  return {
    'content-type': format === 'csv' ? `${exportTypes.csv}; charset=utf-8; header=present` : `${exportTypes.ndjson}; charset=utf-8`,
    'content-disposition': contentDisposition(`usage-${from}-${to}.${format}`),
    'cache-control': 'private, no-store',
  };
}

async function* pages(
  ctx: Scoped,
  filters: UsageRecordFilters,
  { first, last }: { readonly first: UsageRecord[]; readonly last: LedgerPosition | null },
): AsyncGenerator<UsageRecord[]> {
  let page = first;
  for (;;) {
    yield page;
    const end = page.at(-1);
    if (!last || !end || end.id === last.id) return;
    page = await readRecords(ctx, filters, { after: end, last, limit: pageRows });
  }
}

async function* lines(source: AsyncIterable<UsageRecord[]>, format: ExportFormat): AsyncGenerator<string> {
  if (format === 'csv') yield csvRecord(columns.map((text) => ({ text })));
  for await (const page of source) {
    for (let at = 0; at < page.length; at += chunkRows) {
      const views = page.slice(at, at + chunkRows).map(toUsageRecordView);
      yield views
        .map((view) => (format === 'csv' ? csvRecord(columns.map((column) => cellOf(view, column))) : `${JSON.stringify(view)}\n`))
        .join('');
    }
  }
}

function cellOf(view: RecordView, column: (typeof columns)[number]): CsvCell {
  const value = view[column];
  if (typeof value === 'boolean') return value;
  return isNumber.has(column) ? { number: value } : { text: value === null ? null : String(value) };
}
