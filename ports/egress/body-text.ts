import { isUtf8 } from 'node:buffer';
import sniffEncoding from 'html-encoding-sniffer';

export interface TextBody {
  readonly bytes: Uint8Array;
  /** As the server sent it; empty: it sent none. */
  readonly contentType: string;
  /** Whether the body was truncated, perhaps within a character. */
  readonly isTruncated?: boolean;
}

/**
 * Returns the text of a body, without its byte order mark, read as a browser would (WHATWG Encoding; HTML §13.2.3.2, encoding sniffing): by byte order mark,
 * then the charset of Content-Type, then `<meta charset>` of HTML or the declaration of XML. Without any of them it is UTF-8 if it is valid as such, otherwise
 * windows-1252. JSON is UTF-8 whatever it declares (RFC 8259 §8.1), if it is valid as such. Null for bytes that are not text: they hold what MIME Sniffing §3
 * calls binary data bytes, or have an encoding that browsers don't read.
 */
export function readBodyText({ bytes, contentType, isTruncated = false }: TextBody): string | null {
  const encoding = encodingOf(bytes, contentType);
  const isUnicode = isUtf8Prefix(bytes, isTruncated);
  const isJsonInUtf8 = isUnicode && isJson(mediaTypeOf(contentType)) && !bytes.includes(0);
  const name = isJsonInUtf8 || (encoding === unknown && isUnicode) ? 'utf-8' : encoding === unknown ? 'windows-1252' : encoding;
  if (!isUnicode && !name.startsWith('UTF-16') && bytes.some(isBinary)) return null;
  try {
    return new TextDecoder(name).decode(bytes, { stream: isTruncated });
  } catch {
    return null; // the encoding `replacement`
  }
}

/** Returns `type/subtype` in lower case, without parameters. */
export function mediaTypeOf(contentType: string): string {
  return contentType.split(';')[0]?.trim().toLowerCase() ?? '';
}

export function isJson(mediaType: string): boolean {
  return mediaType === 'application/json' || mediaType === 'text/json' || mediaType.endsWith('+json');
}

const unknown = 'unknown';
const xmlTypes: readonly string[] = ['text/xml', 'application/xml'];
const maxMetaBytes = 1024;

function encodingOf(bytes: Uint8Array, contentType: string): string {
  const mediaType = mediaTypeOf(contentType);
  const charset = /;\s*charset\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s;]+))/i.exec(contentType);
  const label = charset?.[1] ?? charset?.[2] ?? charset?.[3];
  const told = { ...(label === undefined ? {} : { transportLayerEncodingLabel: label }), defaultEncoding: unknown };
  if (xmlTypes.includes(mediaType) || mediaType.endsWith('+xml')) return sniffEncoding(bytes, { ...told, xml: true });
  const hasMeta = mediaType === 'text/html' || (mediaType === '' && beginsAsHtml(bytes));
  return sniffEncoding(bytes, { ...told, maxPrescanBytes: hasMeta ? maxMetaBytes : 0 });
}

function beginsAsHtml(bytes: Uint8Array): boolean {
  return /^\s*<(?:!doctype html|html)/i.test(Buffer.from(bytes.subarray(0, maxMetaBytes)).toString('latin1'));
}

/** Bytes that no text holds, except in UTF-16. */
function isBinary(byte: number): boolean {
  return byte <= 0x1f && byte !== 0x1b && byte !== 0x09 && byte !== 0x0a && byte !== 0x0c && byte !== 0x0d;
}

/** A truncated body may end within a character. */
function isUtf8Prefix(bytes: Uint8Array, isTruncated: boolean): boolean {
  if (isUtf8(bytes)) return true;
  return isTruncated && [1, 2, 3].some((cut) => isUtf8(bytes.subarray(0, bytes.length - cut)));
}
