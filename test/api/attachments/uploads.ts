import type { World } from '../world.ts';

/** What an upload or download answered. */
export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Record<string, never> & Record<string, unknown>;
  readonly bytes: Buffer;
}

export interface UploadOptions {
  readonly filename?: string;
  readonly fields?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A small picture: the signature and header of a PNG, padded. */
export const png = Buffer.concat([
  Buffer.from('89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489', 'hex'),
  Buffer.alloc(2_000, 7),
]);

/** Uploads as a browser does. */
export async function upload(world: World, token: string, content: Buffer | string, options: UploadOptions = {}): Promise<Reply> {
  const form = new FormData();
  for (const [name, value] of Object.entries(options.fields ?? {})) form.append(name, value);
  form.append('file', new Blob([new Uint8Array(Buffer.from(content))]), options.filename ?? 'notes.txt');
  return answerOf(
    await fetch(`${world.api.url}/attachments`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, ...options.headers },
      body: form,
    }),
  );
}

/** Sends a body as it stands. */
export async function send(world: World, token: string, body: string | Buffer, headers: Record<string, string>): Promise<Reply> {
  return answerOf(
    await fetch(`${world.api.url}/attachments`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, ...headers },
      body: new Uint8Array(Buffer.from(body)),
    }),
  );
}

export async function download(
  world: World,
  token: string,
  id: unknown,
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<Reply> {
  return answerOf(
    await fetch(`${world.api.url}/attachments/${String(id)}`, { method, headers: { authorization: `Bearer ${token}`, ...headers } }),
  );
}

async function answerOf(response: Response): Promise<Reply> {
  const bytes = Buffer.from(await response.arrayBuffer());
  const isJson = response.headers.get('content-type')?.includes('json') ?? false;
  return {
    status: response.status,
    headers: response.headers,
    body: isJson && bytes.length > 0 ? JSON.parse(bytes.toString()) : {},
    bytes,
  };
}
