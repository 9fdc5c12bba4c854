import { randomUUID } from 'node:crypto';
import { renderLeaves } from '../../../ports/templates/leaves.ts';
import type { Templates } from '../../../ports/templates/templates.ts';
import type { HttpBody } from '../../../db/tools/tool-config.ts';
import type { FieldForm } from '../../../workflows/contracts/tools/http-parameters.ts';
import { fieldPairs, jsonText, scalarText, textOrJson, Unsendable } from './parameter-styles.ts';

/** A body as it is sent, and its media type unless a header sets another. */
export interface RequestBody {
  readonly content: string | Buffer | null;
  readonly contentType: string | null;
  /** The media type holds even when a header sets another: it carries the boundary, or the type of the file itself. */
  readonly isFixed?: boolean;
}

const nothing: RequestBody = { content: null, contentType: null };

/** Fills the body of a tool. Throws Unsendable for a value that has no valid form in it. */
export async function renderBody(
  templates: Templates,
  { body, declaredType }: { readonly body: HttpBody; /** What a header of the tool says. */ readonly declaredType: string | null },
  variables: Readonly<Record<string, unknown>>,
): Promise<RequestBody> {
  if (body.mode === 'none') return nothing;
  // Arguments are no template: braces in them are the caller's text.
  const rendered = body.template === null ? variables['args'] : await renderLeaves(body.template, { templates, variables });
  switch (body.mode) {
    case 'json':
      return { content: jsonText(rendered), contentType: 'application/json' };
    case 'raw':
      return { content: rawText(rendered), contentType: 'text/plain; charset=utf-8' };
    case 'form': {
      const pairs = fieldsOf(rendered).flatMap(([name, value]) => fieldPairs(name, value, body.fields?.[name] ?? {}));
      const content = pairs.map(([name, value]) => `${name}=${value}`).join('&');
      return { content: content.replaceAll('%20', '+'), contentType: 'application/x-www-form-urlencoded' };
    }
    case 'multipart':
      return multipartOf(fieldsOf(rendered), body.fields ?? {});
    case 'bytes': {
      const file = fileOf('body', rendered);
      return { content: file.bytes, contentType: fileType(declaredType, file), isFixed: true };
    }
    default:
      return body.mode satisfies never;
  }
}

function rawText(rendered: unknown): string {
  if (rendered === null) return '';
  const text = scalarText(rendered);
  if (text === null) throw new Unsendable('the body is a text: a list or an object has no form in it');
  return text;
}

function fieldsOf(rendered: unknown): [string, unknown][] {
  if (rendered === null) return [];
  if (typeof rendered !== 'object' || Array.isArray(rendered)) throw new Unsendable('the body is made of fields: it must be an object');
  return Object.entries(rendered);
}

interface Part {
  readonly name: string;
  readonly bytes: Buffer;
  readonly type: string | null;
  readonly filename: string | null;
}

/** Builds multipart/form-data (RFC 7578): one part per field, one per member of a list; objects as JSON, files with their name. */
function multipartOf(fields: readonly [string, unknown][], forms: Readonly<Record<string, FieldForm>>): RequestBody {
  const parts = fields.flatMap(([name, value]) => {
    const members: unknown[] = Array.isArray(value) ? value : [value];
    return members.filter((member) => member !== null && member !== undefined).map((member) => partOf(name, member, forms[name] ?? {}));
  });
  const boundary = `longhaul-${randomUUID()}`;
  const written = parts.flatMap(({ name, bytes, type, filename }) => {
    const file = filename === null ? '' : `; filename="${quoted(filename)}"`;
    const typed = type === null ? '' : `\r\nContent-Type: ${type}`;
    return [Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="${quoted(name)}"${file}${typed}\r\n\r\n`), bytes, lineEnd];
  });
  return {
    content: Buffer.concat([...written, Buffer.from(`--${boundary}--\r\n`)]),
    contentType: `multipart/form-data; boundary=${boundary}`,
    isFixed: true,
  };
}

const lineEnd = Buffer.from('\r\n');

function partOf(name: string, value: unknown, { isFile, contentType }: FieldForm): Part {
  if (isFile) {
    const file = fileOf(name, value);
    return { name, bytes: file.bytes, type: fileType(contentType ?? null, file), filename: file.name ?? 'file' };
  }
  const isText = scalarText(value) !== null;
  return { name, bytes: Buffer.from(textOrJson(value)), type: contentType ?? (isText ? null : 'application/json'), filename: null };
}

interface SentFile {
  readonly bytes: Buffer;
  readonly name: string | null;
  readonly mediaType: string | null;
  readonly isText: boolean;
}

/** Returns a file as a model passes it: `{text}` or `{base64}`, with `filename` and `media_type`; a plain text is its own content. */
function fileOf(argument: string, value: unknown): SentFile {
  const plain = scalarText(value);
  if (plain !== null) return { bytes: Buffer.from(plain), name: null, mediaType: null, isText: true };
  const { text, base64, filename, media_type: mediaType } = Object(value) as Record<string, unknown>;
  const isText = typeof text === 'string';
  if (isText === (typeof base64 === 'string')) throw new Unsendable(`${argument} is a file: give either its text or its base64`);
  const bytes = Buffer.from(String(isText ? text : base64), isText ? 'utf8' : 'base64');
  if (!isText && bytes.toString('base64').replaceAll('=', '') !== plainBase64(String(base64)))
    throw new Unsendable(`${argument} is not in base64`);
  return { bytes, isText, name: typeof filename === 'string' ? filename : null, mediaType: concrete(mediaType) };
}

/** Normalizes Base64 to the standard alphabet, without padding and white space. */
function plainBase64(text: string): string {
  return text.replaceAll(/[\s=]/g, '').replaceAll('-', '+').replaceAll('_', '/');
}

/** Returns the type that the API requires where it names a single one, otherwise the model's type of the file. */
function fileType(declared: string | null, file: SentFile): string {
  return concrete(declared) ?? file.mediaType ?? (file.isText ? 'text/plain; charset=utf-8' : 'application/octet-stream');
}

/** Returns a media type that is valid in a header; null for a range, for several and for none. */
function concrete(type: unknown): string | null {
  return typeof type === 'string' && /^[\w.+-]+\/[\w.+-]+(?:\s*;\s*[\w.+-]+=[\w.+-]+)*$/.test(type) ? type : null;
}

/** Writes a name into Content-Disposition as browsers do (RFC 7578 §2, in the form of the WHATWG). */
function quoted(name: string): string {
  return name.toWellFormed().replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A').replaceAll('\0', '');
}
