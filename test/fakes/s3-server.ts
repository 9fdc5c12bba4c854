import { createHash, createHmac } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An S3 server in memory, as far as a storage needs one: path-style buckets, Signature Version 4, ranges, listings in pages of three. */
export interface S3Server {
  readonly endpoint: string;
  readonly objects: Map<string, Buffer>;
  /** Statuses to answer with before anything else, one a request. */
  readonly faults: number[];
  close(): void;
}

export const s3Keys = { accessKeyId: 'AKTEST', secretAccessKey: 'secret-of-the-tests' };
const bucketPath = '/files/';
const pageKeys = 3;

export async function startS3Server(): Promise<S3Server> {
  const objects = new Map<string, Buffer>();
  const faults: number[] = [];
  const server = createServer((request, response) => {
    answer({ objects, faults }, request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // listening on TCP
  return {
    endpoint: `http://127.0.0.1:${port}`,
    objects,
    faults,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function answer(
  { objects, faults }: Pick<S3Server, 'objects' | 'faults'>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  const body = Buffer.concat(parts);
  const url = new URL(request.url ?? '/', 'http://s3');
  const fault = faults.shift();
  if (fault !== undefined) return void response.writeHead(fault).end();
  if (!isSigned(request, url, body)) return refuse(response, 403, 'SignatureDoesNotMatch');
  if (request.method === 'GET' && url.searchParams.has('list-type')) return list(objects, url, response);

  if (!url.pathname.startsWith(bucketPath)) return refuse(response, 404, 'NoSuchBucket');
  const key = decodeURIComponent(url.pathname.slice(bucketPath.length));
  const found = objects.get(key);
  if (request.method === 'PUT') {
    if (request.headers['content-length'] === undefined) return refuse(response, 411, 'MissingContentLength');
    objects.set(key, body);
    return void response.writeHead(200).end();
  }
  if (request.method === 'DELETE') {
    objects.delete(key);
    return void response.writeHead(204).end();
  }
  if (!found) return refuse(response, 404, 'NoSuchKey');
  const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
  if (first === undefined) return void response.writeHead(200, { 'content-length': found.length }).end(found);
  response.writeHead(206).end(found.subarray(Number(first), Number(last) + 1));
}

function refuse(response: ServerResponse, status: number, code: string): void {
  response.writeHead(status, { 'content-type': 'application/xml' }).end(`<Error><Code>${code}</Code><Message>${code}</Message></Error>`);
}

function list(objects: S3Server['objects'], url: URL, response: ServerResponse): void {
  const prefix = url.searchParams.get('prefix') ?? '';
  const after = url.searchParams.get('continuation-token') ?? '';
  const keys = [...objects.keys()].filter((key) => key.startsWith(prefix) && key > after).toSorted();
  const page = keys.slice(0, pageKeys);
  const entries = page.map((key) => `<Contents><Key>${key}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>`);
  const isTruncated = keys.length > page.length;
  const next = isTruncated ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : '';
  response
    .writeHead(200, { 'content-type': 'application/xml' })
    .end(`<ListBucketResult><IsTruncated>${isTruncated}</IsTruncated>${next}${entries.join('')}</ListBucketResult>`);
}

/** Signature Version 4, computed again from what arrived. */
function isSigned(request: IncomingMessage, url: URL, body: Buffer): boolean {
  const { authorization = '' } = request.headers;
  const [, scope = '', signed = '', signature = ''] =
    /Credential=AKTEST\/([^,]+), SignedHeaders=([^,]+), Signature=(\w+)/.exec(authorization) ?? [];
  const [day = '', region = ''] = scope.split('/');
  const given = String(request.headers['x-amz-content-sha256'] ?? '');
  if (given !== 'UNSIGNED-PAYLOAD' && given !== hash(body)) return false;
  const query = [...url.searchParams]
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .toSorted()
    .join('&');
  const headers = signed.split(';').map((name) => `${name}:${String(request.headers[name] ?? '').trim()}\n`);
  const canonical = [request.method, url.pathname, query, headers.join(''), signed, given].join('\n');
  const toSign = ['AWS4-HMAC-SHA256', request.headers['x-amz-date'], scope, hash(Buffer.from(canonical))].join('\n');
  const key = [day, region, 's3', 'aws4_request'].reduce<string | Buffer>(
    (secret, part) => mac(secret, part),
    `AWS4${s3Keys.secretAccessKey}`,
  );
  return mac(key, toSign).toString('hex') === signature;
}

function mac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

function hash(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function encode(text: string): string {
  return encodeURIComponent(text).replaceAll(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);
}
