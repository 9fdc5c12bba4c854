/** What can be uploaded. A string is the path of a file, under Node. Of a stream there is one try, since it can be read once. */
export type Upload = Blob | Uint8Array | ArrayBuffer | ReadableStream<Uint8Array> | AsyncIterable<Uint8Array> | string;

/** What `fetch` sends. */
export type Body = NonNullable<RequestInit['body']>;

interface Part {
  readonly filename: string | undefined;
  readonly fields: Readonly<Record<string, unknown>>;
  /** Gets the content type of a body that is written here. */
  readonly headers: Record<string, string>;
}

/** The body of an upload as `multipart/form-data` (RFC 7578). No form of it holds a file or a stream in memory as a whole. */
export function multipartOf(file: Upload, { filename, fields, headers }: Part): { body: () => Body; isOneShot: boolean } {
  const texts = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null);
  const blob = blobOf(file);
  if (blob === null) return streamed(file as ReadableStream<Uint8Array>, { filename, texts, headers }); // the two that are left can be iterated

  const name = filename ?? nameOf(file) ?? 'file';
  const form = new FormData();
  // Fields first: the deployment knows them before the bytes arrive.
  for (const [key, value] of texts) form.append(key, String(value));
  form.append('file', blob, name);
  return { body: () => form, isOneShot: false };
}

function blobOf(file: Upload): Blob | null {
  if (file instanceof Blob) return file;
  if (file instanceof Uint8Array || file instanceof ArrayBuffer) return new Blob([file as Uint8Array<ArrayBuffer>]); // memory of either kind
  return null;
}

function nameOf(file: Upload): string | undefined {
  return file instanceof Blob && 'name' in file && typeof file.name === 'string' ? file.name : undefined;
}

interface StreamPart {
  readonly filename: string | undefined;
  readonly texts: readonly (readonly [string, unknown])[];
  readonly headers: Record<string, string>;
}

function streamed(file: AsyncIterable<Uint8Array> | ReadableStream<Uint8Array>, { filename, texts, headers }: StreamPart) {
  const boundary = `longhaul-${crypto.randomUUID()}`;
  headers['content-type'] = `multipart/form-data; boundary=${boundary}`;
  const bytes = chunks(file, { boundary, texts, name: filename ?? 'file' });
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await bytes.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: async () => void (await bytes.return(undefined)),
  });
  return { body: () => body, isOneShot: true };
}

async function* chunks(
  file: AsyncIterable<Uint8Array> | ReadableStream<Uint8Array>,
  { boundary, texts, name }: { readonly boundary: string; readonly texts: StreamPart['texts']; readonly name: string },
): AsyncGenerator<Uint8Array, void> {
  const encode = (text: string) => new TextEncoder().encode(text);
  // As the FormData of browsers escapes names (WHATWG, multipart/form-data encoding).
  const quoted = (text: string) => text.replace(/\r\n?|\n/g, '%0D%0A').replaceAll('"', '%22');
  const head = (parameters: string) => `--${boundary}\r\nContent-Disposition: form-data; ${parameters}\r\n`;
  for (const [key, value] of texts) yield encode(`${head(`name="${quoted(key)}"`)}\r\n${String(value)}\r\n`);
  yield encode(`${head(`name="file"; filename="${quoted(name)}"`)}Content-Type: application/octet-stream\r\n\r\n`);
  yield* iterated(file);
  yield encode(`\r\n--${boundary}--\r\n`);
}

/** Not every browser can iterate a stream. */
async function* iterated(file: AsyncIterable<Uint8Array> | ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  if (!('getReader' in file)) return yield* file;
  const reader = file.getReader();
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) yield part.value;
  } finally {
    await reader.cancel();
  }
  return undefined;
}

interface FileSystem {
  openAsBlob(path: string): Promise<Blob>;
}

/** A file by its path, read while it is sent. Node alone has files; its module is asked for without an import, so that bundles for browsers stay whole. */
export async function opened(file: Upload): Promise<{ readonly file: Upload; readonly name: string | undefined }> {
  if (typeof file !== 'string') return { file, name: undefined };
  const { process } = globalThis as { process?: { getBuiltinModule?(name: 'node:fs'): FileSystem } }; // not in browsers
  const files = process?.getBuiltinModule?.('node:fs');
  if (!files) throw new TypeError('a path can be uploaded under Node 20.16 or later alone: give a Blob');
  return { file: await files.openAsBlob(file), name: file.split(/[\\/]/).at(-1) };
}
