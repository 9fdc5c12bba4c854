import { toAttachmentRef, type AttachmentRef } from '../../db/attachments/run-attachments.ts';
import type { CallState } from '../../db/runs/calls/call-state.ts';
import type { CallOutcome } from '../../db/runs/calls/call-rows.ts';
import { linkToRun } from '../../domain/attachments/run-attachments.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { insertAttachment } from '../../domain/attachments/attachments.ts';
import { storeFile, type StoredFile } from '../../ports/storage/attachment-bytes.ts';
import { newStorageKey } from '../../ports/storage/key.ts';
import type { Storage } from '../../ports/storage/storage.ts';
import { Failure } from '../../workflows/contracts/failure.ts';
import { cleanText } from '../model/wire/plain-text.ts';
import type { ToolFile, ToolOutcome } from '../tools/calls/outcome.ts';
import { truncateText } from '../../workflows/contracts/truncate-text.ts';

/** Files of a result whose bytes are stored; their rows are written with the result itself. */
export interface StoredFiles {
  readonly stored: readonly StoredFile[];
  /** The text for the model beside them: the tool's text, and which files were not stored. */
  readonly text: string;
}

export interface KeptFor {
  readonly runId: string;
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly conversationId: string;
}

export interface KeepOptions {
  readonly organizationId: string;
  readonly maxBytes: number;
  readonly signal: AbortSignal;
}

const maxFiles = 20;

/**
 * Stores the bytes of a result before its transaction begins. Bytes that are then not recorded stay without a row, and the sweep removes them. A file that may
 * not be stored is named to the model and left out.
 */
export async function storeFiles(
  storage: Storage,
  outcome: Extract<ToolOutcome, { type: 'files' }>,
  options: KeepOptions,
): Promise<StoredFiles> {
  const stored: StoredFile[] = [];
  const notes: string[] = [];
  for (const file of outcome.files.slice(0, maxFiles)) {
    const kept = await storeOne(storage, file, options);
    if (kept === null) notes.push(`[${file.name.slice(0, 200)} (${file.mediaType}) is of a type or size that is not kept.]`);
    else stored.push(kept);
  }
  if (outcome.files.length > maxFiles) notes.push(`[${outcome.files.length - maxFiles} more files were not kept.]`);
  return { stored, text: [outcome.text, ...notes].filter((line) => line !== '').join('\n\n') };
}

/** Stored files whose rows are to be written. */
export interface RecordedFiles {
  readonly stored: readonly StoredFile[];
  /** What a tool returns comes from strangers: it is scanned like an upload, where there is a scanner. */
  readonly isScanned: boolean;
}

/** Writes the rows of stored files, in the transaction that records the call's result; the run references them. */
export async function recordFiles(tx: TenantTransaction, run: KeptFor, { stored, isScanned }: RecordedFiles): Promise<AttachmentRef[]> {
  const made: AttachmentRef[] = [];
  for (const file of stored) {
    const row = await insertAttachment(tx, {
      ...file,
      organizationId: run.organizationId,
      workspaceId: run.workspaceId,
      purpose: 'other',
      isScanned,
      createdBy: { kind: 'agent', id: run.runId },
    });
    made.push(toAttachmentRef(row));
  }
  const holder = { id: run.runId, organizationId: run.organizationId, workspaceId: run.workspaceId, conversationId: run.conversationId };
  await linkToRun(
    tx,
    holder,
    made.map((ref) => ref.attachment_id),
  );
  return made;
}

/** Returns the run that a call's files are stored for. */
export function retainedFor(call: CallState): KeptFor {
  return { runId: call.runId, organizationId: call.organizationId, workspaceId: call.workspaceId, conversationId: call.conversationId };
}

/** Returns the outcome of a call that returned files: their names and ids, beside the tool's text. */
export function filesEnd(files: readonly AttachmentRef[], text: string, maxChars: number): CallOutcome {
  const output = { text: truncateText(cleanText(text), maxChars), attachments: files };
  const totalChars = JSON.stringify({ ...output, text }).length;
  const truncated = text.length > maxChars;
  const told = { status: 'succeeded', output, outputType: 'attachment', files, truncated, cached: false, totalChars } as const;
  return { state: 'succeeded', result: { ...told, error: null, durationMs: null }, rest: null };
}

async function storeOne(storage: Storage, file: ToolFile, { organizationId, maxBytes, signal }: KeepOptions): Promise<StoredFile | null> {
  try {
    const incoming = { filename: file.name, bytes: [file.bytes] };
    return await storeFile(storage, newStorageKey(organizationId), incoming, { maxBytes, signal });
  } catch (error) {
    if (error instanceof Failure && (error.code === 'unsupported_media_type' || error.code === 'payload_too_large')) return null;
    throw error;
  }
}
