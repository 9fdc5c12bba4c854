import type { PageRequest } from '../../db/page.ts';
import { documentCaching, sendDocument } from '../http/openapi/documents.ts';
import type { Deprecation } from '../http/openapi/deprecations.ts';
import { get, list, raw, reply } from '../http/operation/operation.ts';
import { streamProtocolView } from '../streams/protocol.ts';
import { DeprecationView, ErrorCatalogueView, StreamProtocolView, toDeprecationView, toErrorCatalogueView } from './contract.schema.ts';

const publicly = { access: 'none', transaction: 'none', cors: 'any' } as const;
const cached = { headers: { 'cache-control': documentCaching } } as const;

export const contractOperations = {
  getOpenapi: raw(
    '/openapi.json',
    {
      ...publicly,
      produces: 'application/json',
      summary: 'Read the OpenAPI document',
      description: 'The OpenAPI 3.1 document of all live operations, including those for operators.',
    },
    async (ctx, _input, http) => sendDocument(http.request, http.reply, ctx.deps.documents.openapi),
  ),

  getRedoc: raw(
    '/redoc',
    {
      ...publicly,
      produces: 'text/html',
      summary: 'Browse the public reference',
      description: 'One self-contained page with the public reference; it loads nothing from elsewhere.',
    },
    async (ctx, _input, http) => sendDocument(http.request, http.reply, ctx.deps.documents.redoc),
  ),

  getLlmsText: raw(
    '/llms.txt',
    {
      ...publicly,
      produces: 'text/plain',
      summary: 'Read the public reference as text',
      description: 'One line for each public operation, grouped by area, for language models and people.',
    },
    async (ctx, _input, http) => sendDocument(http.request, http.reply, ctx.deps.documents.llms),
  ),

  listErrorCodes: get(
    '/error-codes',
    {
      ...publicly,
      view: ErrorCatalogueView,
      summary: 'List the error codes',
      description: 'Every code of the error envelope with its status, whether a retry can succeed, and what to do.',
    },
    async () => reply(toErrorCatalogueView(), cached),
  ),

  getStreamProtocol: get(
    '/stream-protocol',
    {
      ...publicly,
      view: StreamProtocolView,
      summary: 'Read the stream protocol',
      description: 'JSON Schemas of the frames and their envelope, close codes of the WebSocket, and how to resume.',
    },
    async () => reply(streamProtocolView(), cached),
  ),

  listDeprecations: list(
    '/deprecations',
    {
      ...publicly,
      view: DeprecationView,
      paging: 'keyset',
      summary: 'List deprecations',
      description: 'Deprecated parts of the contract, with the date of their removal and their replacement.',
    },
    async (ctx) =>
      sliceOf(
        ctx.deps.deprecations.toSorted((left, right) => (left.id < right.id ? 1 : -1)),
        ctx.page,
      ),
  ),
};

/** A page of a list that lives in code. */
function sliceOf(all: readonly Deprecation[], page: PageRequest) {
  const after = page.after?.[0];
  const rest = after === undefined ? all.slice(page.offset ?? 0) : all.filter((entry) => entry.id < after);
  const items = rest.slice(0, page.limit);
  const last = items.at(-1);
  const hasMore = last !== undefined && page.offset === null && rest.length > page.limit;
  return { items: items.map(toDeprecationView), next: hasMore ? [last.id] : null, total: page.offset === null ? null : all.length };
}
