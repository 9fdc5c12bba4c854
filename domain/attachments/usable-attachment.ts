import { findAttachment, type AttachmentRow } from '../../db/attachments/attachments.ts';
import type { Scoped } from '../../db/scope.ts';
import { fail, invalid } from '../../workflows/contracts/failure.ts';

/** An attachment whose bytes may be used: the input of `ports/storage/storage.ts readWhole`, and its metadata. */
export interface UsableAttachment {
  readonly id: string;
  readonly organizationId: string;
  readonly workspaceId: string | null;
  readonly filename: string;
  readonly mediaType: string;
  readonly sizeBytes: number;
  readonly sha256: string;
  readonly storageKey: string;
}

/**
 * Returns an attachment that a body names and whose bytes are to be used now.
 * @throws 422 `reference` at `pointer` for an attachment that the caller does not see, 409 `attachment_not_ready` unless it is ready.
 */
export async function usableAttachment(ctx: Scoped, id: string, pointer = '/attachment_id'): Promise<UsableAttachment> {
  const found = await findAttachment(ctx, id);
  if (!found) throw unknownAttachment(pointer);
  refuseNotReady(found.state);
  return {
    id: found.id,
    organizationId: found.organizationId,
    workspaceId: found.workspaceId,
    filename: found.filename,
    mediaType: found.mediaType,
    sizeBytes: found.sizeBytes,
    sha256: found.sha256,
    storageKey: found.storageKey,
  };
}

/** 422 for an id that does not resolve, whatever the reason. */
export function unknownAttachment(pointer: string): Error {
  return invalid(pointer, 'reference', 'The attachment does not exist.', { kind: 'attachment' });
}

/** Throws 409 while an attachment is being scanned, and permanently when it was rejected. */
export function refuseNotReady(state: AttachmentRow['state']): void {
  if (state === 'ready') return;
  throw fail('state_conflict', { reason: 'attachment_not_ready', detail: 'The attachment is not ready.', context: { state } });
}
