import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import { randomUUID } from 'node:crypto';
import { open as openFile, rm, type FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { fail } from '../../workflows/contracts/failure.ts';
import type { ByteSource, Storage, StoredObject } from './storage.ts';
import { checkKey, isStorageKey } from './key.ts';
import type { S3Settings } from './settings.ts';

const maxTries = 3;
const chunkBytes = 65_536;
/** Its log names buckets; relevant failures arrive as errors. */
const silent = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

/**
 * Works with any server that speaks S3. An object's length must be known before its first byte is sent, and a multipart upload would hold 5 MiB per part in
 * memory: uploads are spooled to a local file first.
 */
export function createS3Storage(settings: S3Settings, spoolFolder: string = tmpdir()): Storage {
  const client = clientOf(settings);
  const Bucket = settings.bucket;
  const nameOf = (key: string) => settings.prefix + checkKey(key);

  return {
    async put(key, source, { signal } = {}) {
      const Key = nameOf(key);
      const spool = await openSpool(spoolFolder);
      try {
        const ContentLength = await spoolTo(spool, source, signal);
        const send = async () => {
          const Body = Readable.from(chunksOf(spool), { objectMode: false });
          try {
            await client.send(new PutObjectCommand({ Bucket, Key, Body, ContentLength }), { abortSignal: signal });
          } finally {
            Body.destroy();
          }
        };
        await answered(() => retried(send));
      } finally {
        await spool.close();
      }
    },
    async open(key, range) {
      const Range = range && `bytes=${range.start}-${range.end}`;
      const { Body } = await answered(() => client.send(new GetObjectCommand({ Bucket, Key: nameOf(key), Range })));
      if (!(Body instanceof Readable)) throw fail('service_unavailable', { reason: 'storage_no_body' });
      return Body;
    },
    async remove(key) {
      await answered(() => client.send(new DeleteObjectCommand({ Bucket, Key: nameOf(key) })));
    },
    list: (prefix) => listBucket(client, settings, prefix),
    // A spool has no name that could be left over.
    tidy: () => Promise.resolve(0),
    close: () => client.destroy(),
  };
}

function clientOf({ region, endpoint, credentials }: S3Settings): S3Client {
  return new S3Client({
    region,
    ...(endpoint === null ? {} : { endpoint, forcePathStyle: true }),
    ...(credentials === null ? {} : { credentials }),
    maxAttempts: maxTries,
    logger: silent,
    // The SDK's own checksums are sent as trailers, which most servers except Amazon's refuse.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: { connectionTimeout: 5_000, requestTimeout: 60_000 },
  });
}

async function* listBucket(client: S3Client, settings: S3Settings, prefix: string): AsyncGenerator<StoredObject> {
  const place = { Bucket: settings.bucket, Prefix: settings.prefix + prefix };
  for (let token: string | undefined; ;) {
    const from: string | undefined = token;
    const page = await answered(() => client.send(new ListObjectsV2Command({ ...place, ContinuationToken: from })));
    for (const { Key, LastModified } of page.Contents ?? [])
      if (LastModified && isStorageKey(Key?.slice(settings.prefix.length) ?? ''))
        yield { key: Key?.slice(settings.prefix.length) ?? '', storedAt: LastModified };
    if (!page.IsTruncated || page.NextContinuationToken === undefined) return;
    token = page.NextContinuationToken;
  }
}

/** Opens a file and removes its name at once, so that not even a killed process leaves it behind. */
async function openSpool(folder: string): Promise<FileHandle> {
  const path = join(folder, `longhaul-${randomUUID()}.part`);
  return spooled(async () => {
    const handle = await openFile(path, 'wx+', 0o600);
    await rm(path);
    return handle;
  });
}

async function* chunksOf(spool: FileHandle): AsyncGenerator<Buffer> {
  for (let at = 0; ;) {
    const { bytesRead, buffer } = await spool.read(Buffer.allocUnsafe(chunkBytes), 0, chunkBytes, at);
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
    at += bytesRead;
  }
}

/** Returns the number of bytes. */
async function spoolTo(spool: FileHandle, source: ByteSource, signal: AbortSignal | undefined): Promise<number> {
  let length = 0;
  for await (const bytes of source) {
    signal?.throwIfAborted();
    await spooled(async () => {
      for (let at = 0; at < bytes.byteLength;) at += (await spool.write(bytes, at)).bytesWritten;
    });
    length += bytes.byteLength;
  }
  signal?.throwIfAborted();
  return length;
}

/** Maps errors of the local disk, without its paths. */
async function spooled<R>(work: () => Promise<R>): Promise<R> {
  try {
    return await work();
  } catch (cause) {
    throw fail('service_unavailable', { detail: 'The file storage is failing.', reason: 'storage_spool', retryAfterS: 5, cause });
  }
}

/** The SDK does not retry a body that is a stream; here it is a file, which can be read again. */
async function retried<R>(send: () => Promise<R>): Promise<R> {
  for (let tries = 1; ; tries++) {
    try {
      return await send();
    } catch (error) {
      const isFinal = error instanceof S3ServiceException && (error.$metadata.httpStatusCode ?? 500) < 500;
      if (isFinal || isAbort(error) || tries === maxTries) throw error;
      await delay(100 * 2 ** tries);
    }
  }
}

function isAbort(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'name' in error && error.name === 'AbortError';
}

/** Maps refusals of the server, without its message, which names buckets and keys. */
async function answered<R>(ask: () => Promise<R>): Promise<R> {
  try {
    return await ask();
  } catch (cause) {
    const isAnswer = cause instanceof S3ServiceException;
    if (isAnswer && cause.$metadata.httpStatusCode === 404 && cause.name !== 'NoSuchBucket')
      throw fail('not_found', { detail: 'The stored file is lost.', cause });
    if (isAbort(cause)) throw cause;
    const reason = isAnswer ? `storage_${cause.$metadata.httpStatusCode ?? 'fault'}` : 'storage_unreachable';
    throw fail('service_unavailable', { detail: 'The file storage is failing.', reason, retryAfterS: 5, cause });
  }
}
