import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isNotModified } from '../reply/etag.ts';
import { llmsText } from './llms-text.ts';
import { openApiDocument, type OpenApiDocument } from './openapi.ts';
import type { Area } from '../operation/operation.ts';
import { redocPage } from './redoc-page.ts';

/** A document that is made once and sent as it is. */
export interface StaticDocument {
  readonly contentType: string;
  readonly plain: Variant;
  readonly gzip: Variant;
  readonly headers: Readonly<Record<string, string>>;
}

interface Variant {
  readonly bytes: Buffer;
  readonly etag: string;
}

export interface Documents {
  readonly openapi: StaticDocument;
  readonly redoc: StaticDocument;
  readonly llms: StaticDocument;
  /** The document behind `openapi`, for checks at start. */
  readonly source: OpenApiDocument;
}

/** How long a document or a catalogue may be kept. */
export const documentCaching = 'public, max-age=300';

/** The same areas under the same address say the same: a second API in one process (tests) takes what the first has built. */
const built = new WeakMap<readonly Area[], Map<string, Documents>>();

/** What the deployment says about itself. Each document is built when it is first asked for, and once: few processes are asked for any. */
export function documentsOf(areas: readonly Area[], publicUrl: string): Documents {
  const byUrl = built.get(areas) ?? new Map<string, Documents>();
  const documents = byUrl.get(publicUrl) ?? buildDocuments(areas, publicUrl);
  built.set(areas, byUrl.set(publicUrl, documents));
  return documents;
}

function buildDocuments(areas: readonly Area[], publicUrl: string): Documents {
  const source = once(() => openApiDocument(areas, { publicUrl, audience: 'all' }));
  const openapi = once(() => toDocument('application/json; charset=utf-8', JSON.stringify(source())));
  const redoc = once(() => {
    const page = redocPage(openApiDocument(areas, { publicUrl, audience: 'public' }));
    return toDocument('text/html; charset=utf-8', page.html, { 'content-security-policy': page.contentSecurityPolicy });
  });
  const llms = once(() => toDocument('text/plain; charset=utf-8', llmsText(areas, publicUrl)));

  return {
    get source() {
      return source();
    },
    get openapi() {
      return openapi();
    },
    get redoc() {
      return redoc();
    },
    get llms() {
      return llms();
    },
  };
}

function once<T>(build: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: build() }).value;
}

/** Sends a document in the encoding that the client takes; 304 when it has it already. */
export function sendDocument(request: FastifyRequest, reply: FastifyReply, document: StaticDocument): void {
  const isZipped = acceptsGzip(request.headers['accept-encoding']);
  const { bytes, etag } = isZipped ? document.gzip : document.plain;
  reply.headers({ ...document.headers, 'cache-control': documentCaching, 'vary': 'Accept-Encoding', etag });

  if (isNotModified(request.headers['if-none-match'], etag)) {
    reply.code(304).send();
    return;
  }
  if (isZipped) reply.header('content-encoding', 'gzip');
  reply.code(200).header('content-type', document.contentType).send(bytes);
}

function toDocument(contentType: string, text: string, headers: Record<string, string> = {}): StaticDocument {
  const bytes = Buffer.from(text);
  const hash = createHash('sha256').update(bytes).digest('base64url').slice(0, 22);
  // The mark stands in front: at the end it would count as a proxy's, and whoever holds one variant would be told that it is the other.
  return { contentType, headers, plain: { bytes, etag: `"${hash}"` }, gzip: { bytes: gzipSync(bytes), etag: `"gz.${hash}"` } };
}

function acceptsGzip(header: string | string[] | undefined): boolean {
  const codings = String(header ?? '')
    .split(',')
    .map((coding) => coding.trim().toLowerCase());
  return codings.some((coding) => /^(?:gzip|\*)(?:;q=(?!0(?:\.0*)?$).*)?$/.test(coding.replaceAll(' ', '')));
}
