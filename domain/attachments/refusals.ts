import { fail, invalid } from '../../workflows/contracts/failure.ts';
import type { AttachmentRow } from '../../db/attachments/attachments.ts';

/** 422 for an id that does not resolve, whatever the reason. */
export function unknownAttachment(pointer: string): Error {
  return invalid(pointer, 'reference', 'The attachment does not exist.', { kind: 'attachment' });
}

/** Throws 409 while an attachment is being scanned, and permanently when it was rejected. */
export function refuseNotReady(state: AttachmentRow['state']): void {
  if (state === 'ready') return;
  throw fail('state_conflict', { reason: 'attachment_not_ready', detail: 'The attachment is not ready.', context: { state } });
}
