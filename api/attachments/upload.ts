import type { Static } from 'typebox';
import { organizationOf } from '../../db/caller-scope.ts';
import { refuseForeignText, storeFile, type StoredFile } from '../../ports/storage/attachment-bytes.ts';
import { newStorageKey } from '../../ports/storage/key.ts';
import type { IdentifyRequest } from '../http/operation/operation.ts';
import type { AttachmentForm } from './attachment.schema.ts';

/** A form whose file is already in the storage. */
export interface Upload {
  /** What two uploads under one Idempotency-Key are compared by: the file counts by its content. */
  readonly body: Omit<Static<typeof AttachmentForm>, 'file'> & { readonly file: Omit<StoredFile, 'storageKey' | 'isForeignText'> };
  readonly storageKey: string;
}

/** An operator without a view uploads into an organization that only a later field of the form may tell. */
const nowhere = '00000000-0000-0000-0000-000000000000';

/**
 * Streams the file of a form to its place before there is a transaction. What the handler then refuses is discarded; what a fault or a
 * death leaves are bytes that no row names, which the sweep removes.
 */
export async function receiveUpload({ deps, caller, readForm }: IdentifyRequest): Promise<Upload> {
  const storageKey = newStorageKey(organizationOf(caller) ?? nowhere);
  const { fields, received } = await readForm({
    receive: (file) => storeFile(deps.storage, storageKey, file, { maxBytes: deps.env.attachments.maxBytes, takesForeignText: true }),
    discard: () => deps.storage.remove(storageKey),
  });
  // The purpose may come after the file. The reader of knowledge sources supports the other encodings.
  if (fields.purpose !== 'knowledge') refuseForeignText(received);
  const { filename, mediaType, sizeBytes, sha256 } = received;
  return { body: { ...fields, file: { filename, mediaType, sizeBytes, sha256 } }, storageKey };
}
