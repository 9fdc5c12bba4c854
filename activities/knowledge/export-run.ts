import { createHash } from 'node:crypto';
import { pipeline, Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import { insertAttachment } from '../../domain/attachments/attachments.ts';
import { countOnRun, moveOn } from '../../domain/knowledge/runs/run-batches.ts';
import { exportName, exportOptionsOf, keepExport } from '../../domain/knowledge/transfer/transfers.ts';
import { exportRecords } from '../../domain/knowledge/transfer/export-bundle.ts';
import { writeBundle, type BundleRecord } from '../../ports/parsing/knowledge-bundle.ts';
import { newStorageKey } from '../../ports/storage/key.ts';
import { readAsSystem } from '../support/as-system.ts';
import { tenantOfActivity } from '../support/tenant.ts';
import type { BatchOutcome, RunBatch } from './run-activities.ts';

/**
 * Writes a base as one file, a page of rows at a time, and links it to the run. A killed try leaves bytes that no row names, which a sweep removes; the next
 * try writes the file anew.
 */
export async function exportBatch(batch: RunBatch): Promise<BatchOutcome> {
  const { run, deps, signal, commit } = batch;
  if (run.attachmentId !== null) return { result: { attachment_id: run.attachmentId } };
  const { organizationId } = tenantOfActivity();
  const storageKey = newStorageKey(organizationId);
  const counts: Record<string, number> = {};
  const read = <R>(work: Parameters<typeof readAsSystem<R>>[1]) => readAsSystem(deps, work);
  const records = counted(exportRecords(read, run.kbId, exportOptionsOf(run)), counts);
  // An error while reading the rows ends the file too.
  const gzip = pipeline(Readable.from(writeBundle(records)), createGzip(), () => undefined);
  const size = { sizeBytes: 0, digest: createHash('sha256') };
  await deps.storage.put(storageKey, measured(gzip as AsyncIterable<Uint8Array>, size), { signal });

  const attachmentId = await commit(async (tx, locked) => {
    const { workspaceId } = locked;
    const bytes = { storageKey, sizeBytes: size.sizeBytes, sha256: size.digest.digest('hex') };
    const file = { filename: exportName(locked), mediaType: 'application/gzip', purpose: 'knowledge', isScanned: false } as const;
    const made = await insertAttachment(tx, { organizationId, workspaceId, ...file, ...bytes, createdBy: locked.requestedBy });
    await keepExport(tx, locked, made.id);
    countOnRun(locked, counts);
    moveOn(locked, { stage: 'written', done: counts['items'] ?? 0, total: counts['items'] ?? 0, cursor: null });
    return made.id;
  });
  return { result: { attachment_id: attachmentId } };
}

const names: Readonly<Record<string, string>> = {
  source: 'sources',
  item: 'items',
  relation: 'relations',
  vectors: 'vectors',
  grant: 'grants',
};

async function* counted(records: AsyncIterable<BundleRecord>, counts: Record<string, number>): AsyncGenerator<BundleRecord> {
  for await (const record of records) {
    const name = names[record.type];
    if (name !== undefined) counts[name] = (counts[name] ?? 0) + 1;
    yield record;
  }
}

async function* measured(
  bytes: AsyncIterable<Uint8Array>,
  size: { sizeBytes: number; readonly digest: ReturnType<typeof createHash> },
): AsyncGenerator<Uint8Array> {
  for await (const chunk of bytes) {
    size.sizeBytes += chunk.byteLength;
    size.digest.update(chunk);
    yield chunk;
  }
}
