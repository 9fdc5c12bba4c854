import type { RunFile } from '../../db/attachments/run-attachments.ts';
import { readBodyText } from '../../ports/egress/body-text.ts';
import { readWhole, type Storage } from '../../ports/storage/storage.ts';
import { WorkLimit, WorkProblem } from '../../ports/untrusted/work-errors.ts';
import { Failure } from '../../workflows/contracts/failure.ts';
import { cleanText } from '../model/wire/plain-text.ts';
import type { WebPages } from '../tools/builtin/web-fetch.ts';

/** What reading a file needs from its process. */
export interface FileDeps {
  readonly storage: Storage;
  readonly pages: Pick<WebPages, 'read'>;
  /** The organization that owns the file. */
  readonly organizationId: string | null;
}

/** Maximum bytes of a file that are read into memory at once. */
export const maxFileBytes = 20 * 1024 * 1024;

const textTypes: ReadonlySet<string> = new Set([
  'application/json',
  'application/rtf',
  'application/x-ndjson',
  'application/xml',
  'application/yaml',
  'image/svg+xml',
]);

/** Whether a file of this type can be read as text at all. */
export function isReadable(mediaType: string): boolean {
  return mediaType.startsWith('text/') || textTypes.has(mediaType) || mediaType === 'application/pdf';
}

/** Returns the bytes of a file; null when they are deleted or too many. Storage errors are thrown, so that a later try can succeed. */
export async function bytesOfFile({ storage }: Pick<FileDeps, 'storage'>, file: RunFile): Promise<Buffer | null> {
  try {
    return await readWhole(storage, { storageKey: file.storageKey, sizeBytes: file.sizeBytes }, maxFileBytes);
  } catch (error) {
    if (error instanceof Failure && (error.code === 'not_found' || error.code === 'payload_too_large')) return null;
    throw error;
  }
}

/** Returns the text of a file: as it is, HTML as markdown, PDF page by page; null when there is none. */
export async function textOfFile(deps: FileDeps, file: RunFile): Promise<string | null> {
  if (!isReadable(file.mediaType)) return null;
  const bytes = await bytesOfFile(deps, file);
  if (bytes === null) return null;
  if (file.mediaType !== 'text/html' && file.mediaType !== 'application/pdf') return textOf(bytes, file.mediaType);

  const { organizationId, pages } = deps;
  const job = { body: bytes, contentType: file.mediaType, url: '', format: 'markdown' } as const;
  const read = await pages.read({ ...job, organizationId }).catch(noText);
  return read === null ? null : cleanText(read.text);
}

/** A knowledge file may have another encoding than UTF-8. */
function textOf(bytes: Buffer, contentType: string): string {
  return cleanText(readBodyText({ bytes, contentType }) ?? bytes.toString('utf8'));
}

/** A file that can't be read, or not within its limits, has no text; errors of the process are rethrown. */
function noText(error: unknown): null {
  if (error instanceof WorkLimit || error instanceof WorkProblem) return null;
  throw error;
}
