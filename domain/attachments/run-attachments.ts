import { fail } from '../../workflows/contracts/failure.ts';
import { readNamedFiles, readRunFiles, toAttachmentRef, type AttachmentRef } from '../../db/attachments/run-attachments.ts';
import { linkLocked, lockAttachments, type AttachingRun } from '../../db/attachments/run-links.ts';
import { followedTime } from '../../db/database-clock.ts';
import type { Scoped } from '../../db/scope.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { refuseNotReady, unknownAttachment } from './usable-attachment.ts';

/**
 * Looks up the attachments that the inputs of runs name, all together; the returned function yields those of the n-th run, in its order. An attachment that is
 * still being scanned is accepted: the run waits for it.
 * @throws by that function: 422 `reference` for an attachment that the caller does not see in the run's workspace, 409 `attachment_not_ready` for a rejected
 * one.
 */
export async function attachmentsForRuns(
  ctx: Scoped,
  asked: readonly { readonly ids: readonly string[]; readonly workspaceId: string | null }[],
  pointer = '/input/attachments',
): Promise<(n: number) => readonly AttachmentRef[]> {
  const found = await readNamedFiles(
    ctx,
    asked.flatMap(({ ids }) => ids),
  );
  const byId = new Map(found.map((file) => [file.id, file]));
  return (n) =>
    (asked[n]?.ids ?? []).map((id, at) => {
      const file = byId.get(id);
      if (!file || file.workspaceId !== asked[n]?.workspaceId) throw unknownAttachment(`${pointer}/${at}/attachment_id`);
      if (file.state === 'rejected') refuseNotReady(file.state);
      return toAttachmentRef(file);
    });
}

/**
 * Links attachments to a run: it shows them, and they are retained as long as the run. Links all or, with 422, none of them; an attachment that is already
 * linked is no error.
 */
export async function linkToRun(tx: TenantTransaction, run: AttachingRun, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  const unique = [...new Set(ids)];
  // Locked first, in a separate statement: a statement that both locks and writes would miss a row that another transaction was changing.
  const locked = await lockAttachments(tx, run.organizationId, unique);
  // The sweep has just deleted one of them.
  if (locked < unique.length) throw unknownAttachment('/input/attachments');
  await linkLocked(tx, run, unique);
}

const waitForScanMs = 120_000;

/**
 * Returns the names of the run's input files that can't be used. While one of them is still being scanned, a run that has just become active waits: throws
 * `service_unavailable`, which is retried; after two minutes the run continues without the file.
 */
export async function unusableInputs(
  tx: TenantTransaction,
  run: { readonly id: string; readonly activatedAt: Date },
  refs: readonly AttachmentRef[],
): Promise<string[]> {
  if (refs.length === 0) return [];
  const files = await readRunFiles(
    tx,
    run.id,
    refs.map((ref) => ref.attachment_id),
  );
  const isWaiting = followedTime(tx.em).getTime() - run.activatedAt.getTime() < waitForScanMs;
  if (isWaiting && files.some((file) => file.state === 'scanning'))
    throw fail('service_unavailable', { reason: 'attachment_scanning', detail: 'An attachment of the input is still being scanned.' });

  const ready = new Set(files.filter((file) => file.state === 'ready').map((file) => file.id));
  return refs.filter((ref) => !ready.has(ref.attachment_id)).map((ref) => ref.name);
}
