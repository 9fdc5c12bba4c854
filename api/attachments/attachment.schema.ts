import Type from 'typebox';
import { attachmentPurposes, attachmentStates } from '../../db/attachments/attachment.entity.ts';
import type { AttachmentRow } from '../../db/attachments/attachments.ts';
import { iso } from '../../db/sql.ts';
import { ActorRef, bytes, closed, idOf, integer, nullable, oneOf, text, Timestamp } from '../http/input/schema.ts';

export const AttachmentParams = closed({ attachment_id: idOf('Attachment') });

export const AttachmentForm = closed(
  {
    file: bytes('One file. Its type is detected from its first bytes; its name is only a label'),
    workspace_id: Type.Optional(idOf('Workspace')),
    purpose: Type.Optional(oneOf(attachmentPurposes, { default: 'run_input' })),
  },
  { $id: 'AttachmentForm', description: 'A file and what it is for' },
);

/** Headers of a download. */
export const DownloadHeaders = closed({
  'range': Type.Optional(text(200, { description: 'One range of bytes; several, or one out of bounds, give the whole' })),
  'if-range': Type.Optional(text(200, { description: 'The ETag for which the range holds' })),
  'if-none-match': Type.Optional(text(2_000, { description: 'ETags that the client has; a match answers 304' })),
});

export const AttachmentView = closed(
  {
    id: idOf('Attachment'),
    organization_id: idOf('Organization'),
    workspace_id: nullable(idOf('Workspace', 'Null for the file of an organization’s skill')),
    filename: text(255),
    media_type: text(255),
    size_bytes: integer(),
    sha256: text(64, { minLength: 64, pattern: '^[0-9a-f]{64}$' }),
    purpose: oneOf(attachmentPurposes),
    state: oneOf(attachmentStates, { description: 'scanning: the file is being scanned and cannot be used yet' }),
    created_by: ActorRef,
    linked: Type.Boolean({ description: 'Whether something uses the file; if not, it is deleted after expires_at' }),
    expires_at: nullable(Timestamp),
    created_at: Timestamp,
  },
  { $id: 'AttachmentView', description: 'A file’s metadata, without its bytes' },
);

/** A download as JSON. By its type alone the two can't be told apart. */
export const AttachmentAsJson = Type.Unsafe<unknown>({
  description: 'An AttachmentView if the request has exactly Accept: application/json; otherwise the file itself, if it is JSON',
});

/** The wire form of an attachment, without the storage key of its bytes. */
export function toAttachmentView(row: AttachmentRow) {
  return {
    id: row.id,
    organization_id: row.organizationId,
    workspace_id: row.workspaceId,
    filename: row.filename,
    media_type: row.mediaType,
    size_bytes: row.sizeBytes,
    sha256: row.sha256,
    purpose: row.purpose,
    state: row.state,
    created_by: { kind: row.createdBy.kind, id: row.createdBy.id },
    linked: row.linked,
    expires_at: iso(row.expiresAt),
    created_at: iso(row.createdAt),
  };
}
