import { fileTypeFromBuffer } from 'file-type';

/** Number of leading bytes that determine a file's type; later bytes are never read for it. */
export const headBytes = 4_100;

/** Types that are accepted besides plain text: documents, images, audio, video, fonts, archives and tables. No program of any kind. */
const takenTypes: ReadonlySet<string> = new Set([
  'application/epub+zip',
  'application/gzip',
  'application/ogg',
  'application/pdf',
  'application/rtf',
  'application/vnd.apache.parquet',
  'application/vnd.oasis.opendocument.presentation',
  'application/vnd.oasis.opendocument.spreadsheet',
  'application/vnd.oasis.opendocument.text',
  'application/vnd.openxmlformats-officedocument.presentationml.presentation',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  'application/x-7z-compressed',
  'application/x-bzip2',
  'application/x-sqlite3',
  'application/x-tar',
  'application/x-xz',
  'application/xml',
  'application/zip',
  'application/zstd',
  'audio/aac',
  'audio/aiff',
  'audio/amr',
  'audio/flac',
  'audio/midi',
  'audio/mp4',
  'audio/mpeg',
  'audio/ogg',
  'audio/wav',
  'audio/x-m4a',
  'font/collection',
  'font/otf',
  'font/ttf',
  'font/woff',
  'font/woff2',
  'image/apng',
  'image/avif',
  'image/bmp',
  'image/gif',
  'image/heic',
  'image/heif',
  'image/jpeg',
  'image/jxl',
  'image/png',
  'image/tiff',
  'image/webp',
  'image/x-icon',
  'text/calendar',
  'text/vcard',
  'text/vtt',
  'video/3gpp',
  'video/matroska',
  'video/mp4',
  'video/mpeg',
  'video/ogg',
  'video/quicktime',
  'video/vnd.avi',
  'video/webm',
  'video/x-m4v',
]);

/** Types whose signature is itself text; any other signature in a file of pure text is a coincidence. */
const wordTypes: ReadonlySet<string> = new Set([
  'application/pdf',
  'application/rtf',
  'application/xml',
  'text/calendar',
  'text/vcard',
  'text/vtt',
]);

/** A text format that is recognized by its first six letters. */
const wordyType = 'model/stl';

/** A zip document type by file name, used only when the first entry of the zip does not identify it. */
const zipTypes: Readonly<Record<string, string>> = {
  docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  epub: 'application/epub+zip',
  odp: 'application/vnd.oasis.opendocument.presentation',
  ods: 'application/vnd.oasis.opendocument.spreadsheet',
  odt: 'application/vnd.oasis.opendocument.text',
  pptx: 'application/vnd.openxmlformats-officedocument.presentationml.presentation',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
};

const textTypes: Readonly<Record<string, string>> = {
  css: 'text/css',
  csv: 'text/csv',
  htm: 'text/html',
  html: 'text/html',
  ics: 'text/calendar',
  json: 'application/json',
  jsonl: 'application/x-ndjson',
  markdown: 'text/markdown',
  md: 'text/markdown',
  ndjson: 'application/x-ndjson',
  svg: 'image/svg+xml',
  tsv: 'text/tab-separated-values',
  vcf: 'text/vcard',
  xml: 'application/xml',
  yaml: 'application/yaml',
  yml: 'application/yaml',
};

export type Sniffed =
  | { readonly kind: 'taken'; readonly mediaType: string }
  /** Without a signature: the media type if all of the file turns out to be text. */
  | { readonly kind: 'text'; readonly mediaType: string }
  | { readonly kind: 'refused' };

/**
 * Returns the type of a file by its first bytes. Its name decides only between types of one container and between texts; the client's declaration decides
 * nothing.
 */
export async function sniff(head: Uint8Array, filename: string): Promise<Sniffed> {
  const signature = await signatureOf(head);
  const extension = extensionOf(filename);
  if (signature === null || isCoincidence(signature, head)) return { kind: 'text', mediaType: textTypes[extension] ?? 'text/plain' };
  if (signature === 'application/zip') return { kind: 'taken', mediaType: zipTypes[extension] ?? signature };
  return takenTypes.has(signature) ? { kind: 'taken', mediaType: signature } : { kind: 'refused' };
}

/** "BMW" begins like a bitmap, and "The free book" like a film; their real files hold control characters. Signatures of programs always count. */
function isCoincidence(signature: string, head: Uint8Array): boolean {
  const isDoubtful = signature === wordyType || (takenTypes.has(signature) && !wordTypes.has(signature));
  return isDoubtful && isWords(head);
}

function isWords(head: Uint8Array): boolean {
  try {
    // The head may end within a character.
    const text = new TextDecoder('utf-8', { fatal: true }).decode(head, { stream: true });
    return !/[^\P{Cc}\t\n\f\r]/u.test(text);
  } catch {
    return false;
  }
}

async function signatureOf(head: Uint8Array): Promise<string | null> {
  try {
    return (await fileTypeFromBuffer(head))?.mime.split(';')[0] ?? null;
  } catch {
    // A head that makes its reader fail has no signature.
    return null;
  }
}

function extensionOf(filename: string): string {
  const extension = filename.slice(filename.lastIndexOf('.') + 1).toLowerCase();
  // A name like `constructor` is not a key of the tables.
  return Object.hasOwn(textTypes, extension) || Object.hasOwn(zipTypes, extension) ? extension : '';
}
