import { create as contentDisposition } from 'content-disposition';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AttachmentRow } from '../../db/attachments/attachments.ts';
import { refuseNotReady } from '../../domain/attachments/usable-attachment.ts';
import type { Storage } from '../../ports/storage/storage.ts';
import { readRange } from '../http/reply/byte-range.ts';
import { etagOf, isNotModified } from '../http/reply/etag.ts';

interface Exchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** Sends the bytes of an attachment, all or one range, so that no browser shows or runs them. Throws 409 unless it is ready. */
export async function sendBytes({ request, reply }: Exchange, storage: Storage, row: AttachmentRow): Promise<void> {
  refuseNotReady(row.state);
  const etag = etagOf(row.sha256);
  const isKnown = isNotModified(request.headers['if-none-match'], etag);
  const isHead = request.method === 'HEAD';
  const range = isHead ? null : readRange(request.headers, row.sizeBytes, etag);
  // Opened before any header describes the bytes, so that an error carries neither their tag nor their name.
  const bytes = isKnown || isHead ? undefined : await storage.open(row.storageKey, range ?? undefined);
  reply.headers({
    etag,
    'accept-ranges': 'bytes',
    'content-disposition': contentDisposition(row.filename),
    // Whatever type it claims, it is a file to be saved and no page of ours.
    'content-security-policy': "sandbox; default-src 'none'",
    'cache-control': 'private, no-cache',
  });
  if (isKnown) {
    reply.code(304).send();
    return;
  }

  reply.headers({
    'content-type': contentTypeOf(row),
    'content-length': range ? range.end - range.start + 1 : row.sizeBytes,
    ...(range ? { 'content-range': `bytes ${range.start}-${range.end}/${row.sizeBytes}` } : {}),
  });
  reply.code(range ? 206 : 200);
  reply.send(bytes);
}

/** Text is UTF-8, but a file of knowledge may be of any encoding. */
function contentTypeOf({ mediaType, purpose }: AttachmentRow): string {
  return mediaType.startsWith('text/') && purpose !== 'knowledge' ? `${mediaType}; charset=utf-8` : mediaType;
}
