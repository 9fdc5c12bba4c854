import { buffer } from 'node:stream/consumers';
import { readAnswerFiles, type PartRow, type ReportedRun } from '../../db/channels/part-queries.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { filesOfPart, firstFilePart } from '../../domain/channels/answer-files.ts';
import type { ChannelService, ServiceFile } from '../../ports/channels/service.ts';
import type { ActivityDeps } from '../deps.ts';

/** The files of a part, beside its text. */
export interface PartFiles {
  readonly file: ServiceFile | null;
  readonly files: readonly ServiceFile[];
  /** Whether one of them is still being scanned. */
  readonly isScanned: boolean;
  /** Whether the part is a file that is deleted, or must not be passed on. */
  readonly isDeleted: boolean;
}

/** Returns the files of a part, whose bytes are read when they are sent. Files that accompany a text and no longer exist are left out. */
export async function partFiles(
  deps: Pick<ActivityDeps, 'storage'>,
  tx: TenantTransaction,
  { part, run, rule }: { readonly part: PartRow; readonly run: ReportedRun | null; readonly rule: ChannelService['files'] },
): Promise<PartFiles> {
  const isFile = part.kind === 'reply' && part.part >= firstFilePart;
  const named = filesOfPart(part, run?.output?.attachments, rule);
  if (named.length === 0) return { file: null, files: [], isScanned: false, isDeleted: isFile };
  const rows = new Map(
    (
      await readAnswerFiles(
        tx,
        named.map(({ attachmentId }) => attachmentId),
      )
    ).map((row) => [row.id, row]),
  );
  const files = named.flatMap((name) => {
    const row = rows.get(name.attachmentId);
    return row?.state === 'ready' ? [{ ...name, read: async () => buffer(await deps.storage.open(row.storageKey)) }] : [];
  });
  const isScanned = named.some(({ attachmentId }) => rows.get(attachmentId)?.state === 'scanning');
  return isFile
    ? { file: files[0] ?? null, files: [], isScanned, isDeleted: files.length === 0 }
    : { file: null, files, isScanned, isDeleted: false };
}
