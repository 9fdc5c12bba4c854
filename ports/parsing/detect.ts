import { open } from 'node:fs/promises';
import { fileTypeFromBuffer } from 'file-type';
import { sniffUtf16 } from './text/text-bytes.ts';
import { ParseFailure, type FileFormat, type ParseInput } from './parsed.ts';
import { openZip } from './formats/zip.ts';

const sampleBytes = 8 * 1024;

const byExtension: Readonly<Record<string, FileFormat>> = {
  csv: 'csv',
  docx: 'docx',
  eml: 'eml',
  htm: 'html',
  html: 'html',
  json: 'json',
  jsonl: 'jsonl',
  markdown: 'markdown',
  md: 'markdown',
  ndjson: 'jsonl',
  pdf: 'pdf',
  pptx: 'pptx',
  tab: 'tsv',
  tsv: 'tsv',
  txt: 'markdown',
  xhtml: 'html',
  xlsx: 'xlsx',
};

const byMediaType: Readonly<Record<string, FileFormat>> = {
  'application/json': 'json',
  'application/x-ndjson': 'jsonl',
  'application/xhtml+xml': 'html',
  'message/rfc822': 'eml',
  'text/csv': 'csv',
  'text/html': 'html',
  'text/markdown': 'markdown',
  'text/plain': 'markdown',
  'text/tab-separated-values': 'tsv',
};

/** Formats that have a binary signature; text under their name is unexpected. */
const binaryFormats: readonly FileFormat[] = ['docx', 'pdf', 'pptx', 'xlsx'];

/** First folders of documents that are zip files (ECMA-376 part 2). */
const byFolder: Readonly<Record<string, FileFormat>> = { 'word/': 'docx', 'xl/': 'xlsx', 'ppt/': 'pptx' };

/** Types that `file-type` reports for some texts. */
const wordTypes: readonly string[] = ['application/xml', 'text/calendar', 'text/vcard', 'text/vtt', 'model/stl', 'image/svg+xml'];

/**
 * Returns the format of a file: by its first bytes, then its name, then the declared media type. A name that contradicts the bytes is a warning.
 * @throws ParseFailure `empty`, `encrypted`, `unsupported_media_type`, `malformed`
 */
export async function detectFormat({ path, filename, sizeBytes, warn }: ParseInput, mediaType: string): Promise<FileFormat> {
  if (sizeBytes === 0) throw new ParseFailure('empty', 'The file is empty.');
  const head = await headOf(path);
  const named = formatOfName(filename) ?? byMediaType[mediaType.split(';')[0]?.trim().toLowerCase() ?? ''] ?? null;
  const signed = await formatOfBytes(path, head);
  if (signed !== null) {
    if (named !== null && named !== signed) warn('type_mismatch', `The name or type says ${named}, but the content is ${signed}.`);
    return signed;
  }
  if (named !== null && binaryFormats.includes(named)) {
    // Bytes with a damaged head, or another format under this name.
    if (!isText(head)) throw new ParseFailure('malformed', `The file is named as ${named}, but is not one.`);
    warn('type_mismatch', `The name or type says ${named}, but the content is text.`);
    return formatOfText(head) ?? 'text';
  }
  const told = named === 'markdown' ? formatOfText(head) : null;
  if (told === 'html') warn('type_mismatch', 'The name or type says text, but the content is HTML.');
  return told === 'html' ? told : (named ?? formatOfText(head) ?? 'text');
}

function formatOfName(filename: string): FileFormat | null {
  const extension = filename.slice(filename.lastIndexOf('.') + 1).toLowerCase();
  return filename.includes('.') && Object.hasOwn(byExtension, extension) ? (byExtension[extension] ?? null) : null;
}

async function formatOfBytes(path: string, head: Buffer): Promise<FileFormat | null> {
  // A header may follow some other bytes (ISO 32000-1, annex H.3.4.1).
  if (head.subarray(0, 1024).includes('%PDF-')) return 'pdf';
  if (head.subarray(0, 4).equals(Buffer.from('PK\u0003\u0004', 'latin1'))) return formatOfZip(path);
  const type = (await fileTypeFromBuffer(head).catch(() => undefined))?.mime.split(';')[0];
  if (type === 'application/x-cfb') throw compoundFailure(await readAll(path));
  if (type === undefined || wordTypes.includes(type) || isText(head)) return null;
  throw new ParseFailure('unsupported_media_type', `Files of type ${type} cannot be read.`);
}

async function formatOfZip(path: string): Promise<FileFormat> {
  const zip = await openZip(path);
  zip.close();
  for (const [folder, format] of Object.entries(byFolder)) if (zip.names.some((name) => name.startsWith(folder))) return format;
  throw new ParseFailure('unsupported_media_type', 'The file is an archive, which cannot be read. Unpack it and send its files.');
}

/** Compound files (MS-CFB): documents with a password have a stream of this name (MS-OFFCRYPTO §2.3.4), others are of Office 97 to 2003. */
function compoundFailure(bytes: Buffer): ParseFailure {
  const isEncrypted = bytes.includes(Buffer.from('EncryptedPackage', 'utf16le'));
  return isEncrypted
    ? new ParseFailure('encrypted', 'The file is password-protected.')
    : new ParseFailure('unsupported_media_type', 'Office 97–2003 files cannot be read. Save it as .docx, .xlsx or .pptx.');
}

function formatOfText(head: Buffer): FileFormat | null {
  const wide = sniffUtf16(head);
  const text = wide ? new TextDecoder(wide.charset).decode(head) : head.toString('latin1').replace(/^\u00EF\u00BB\u00BF/, '');
  if (/^\s*(?:<\?xml[^>]*>\s*)?(?:<!--[^>]*-->\s*)?<(?:!doctype html|html[\s>])/i.test(text)) return 'html';
  if (
    /^(?:[A-Za-z][A-Za-z0-9-]{1,40}:[^\n]*\r?\n(?:[ \t][^\n]*\r?\n)*){3}/.test(text) &&
    /^(?:from|received|return-path|message-id):/im.test(text)
  )
    return 'eml';
  return null;
}

function isText(head: Buffer): boolean {
  return sniffUtf16(head) !== null || !head.some((byte) => byte < 0x09 || (byte > 0x0d && byte < 0x1b));
}

async function headOf(path: string): Promise<Buffer> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(sampleBytes), 0, sampleBytes, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

async function readAll(path: string): Promise<Buffer> {
  const file = await open(path);
  try {
    return await file.readFile();
  } finally {
    await file.close();
  }
}
