import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type ChatService = 'slack' | 'telegram' | 'discord' | 'desk';

/** A message as it stands in a thread now. */
export interface ChatMessage {
  readonly service: ChatService;
  readonly id: string;
  readonly place: string;
  readonly thread: string | null;
  text: string;
  /** As it was sent or edited last. */
  body: Record<string, unknown>;
  readonly headers: IncomingMessage['headers'];
  /** The bytes of a signed post. */
  readonly raw: string;
  edits: number;
  /** A file that came with it. */
  readonly file?: ChatFile;
}

export interface ChatFile {
  readonly name: string;
  readonly bytes: Buffer;
}

/** A request that came, whatever became of it. */
export interface ChatCall {
  readonly service: ChatService;
  readonly method: string;
  readonly path: string;
  readonly body: Record<string, unknown>;
}

/** Slack, Telegram, Discord and a system of a tenant's own, as their documentation has them: limits, markup, edits, nonces, rate limits, metadata. */
export interface ChatServer {
  readonly origin: string;
  readonly port: number;
  readonly env: Readonly<Record<string, string>>;
  readonly messages: ChatMessage[];
  readonly calls: ChatCall[];
  /** Runs when a message stands in its thread and nobody has been told yet. */
  onMessage: ((message: ChatMessage) => Promise<void> | void) | null;
  /** Asked before a call is served: an answer in place of the service's own. */
  instead:
    | ((call: ChatCall) => { readonly status: number; readonly body: unknown; readonly headers?: Record<string, string> } | null)
    | null;
  /** Bytes of files, by path. */
  readonly files: Map<string, { readonly bytes: Buffer; readonly type: string; readonly needs?: string }>;
  of(service: ChatService, place?: string): ChatMessage[];
  close(): void;
}

/** What came with a call beside its fields. */
type Sent = Pick<ChatMessage, 'headers' | 'raw' | 'file'>;
type Answer = { readonly status: number; readonly body: unknown; readonly headers?: Record<string, string> };

export async function startChatServer(): Promise<ChatServer> {
  const messages: ChatMessage[] = [];
  const calls: ChatCall[] = [];
  let serial = 0;
  /** Of Slack: bytes that were sent to an address, by its path. */
  const uploads = new Map<string, ChatFile>();
  const expectedBytes = new Map<string, number>();
  const server = createServer((request, response) => void take(request, response).catch(() => response.destroy()));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // listening on TCP
  const origin = `http://127.0.0.1:${port}`;
  const chat: ChatServer = {
    origin,
    port,
    env: { SLACK_API_URL: `${origin}/slack`, TELEGRAM_API_URL: `${origin}/telegram`, DISCORD_API_URL: `${origin}/discord` },
    messages,
    calls,
    onMessage: null,
    instead: null,
    files: new Map(),
    of: (service, place) => messages.filter((message) => message.service === service && (place === undefined || message.place === place)),
    close() {
      server.closeAllConnections();
      server.close();
    },
  };

  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => undefined);
    const url = new URL(request.url ?? '/', origin);
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(Buffer.from(part));
    const bytes = Buffer.concat(parts);
    const type = request.headers['content-type'] ?? '';
    const raw = /json/.test(type) ? bytes.toString() : '';
    const upload = uploads.get(url.pathname);
    if (upload) {
      uploads.set(url.pathname, { ...upload, bytes });
      response.writeHead(200).end('OK');
      return;
    }
    const file = chat.files.get(url.pathname);
    if (file) {
      const isOpen = file.needs === undefined || request.headers.authorization === file.needs;
      response.writeHead(isOpen ? 200 : 403, { 'content-type': file.type }).end(isOpen ? file.bytes : '');
      return;
    }
    const [, name = '', ...rest] = url.pathname.split('/');
    const service: ChatService = name === 'slack' || name === 'telegram' || name === 'discord' ? name : 'desk';
    const body = (raw === '' ? Object.fromEntries(url.searchParams) : JSON.parse(raw)) as Record<string, unknown>; // our own client sends JSON
    const call: ChatCall = {
      service,
      method: request.method ?? '',
      path: rest.join('/'),
      body: { ...body, ...fieldsOf(await formOf(type, bytes)) },
    };
    calls.push(call);
    const sent = { headers: request.headers, raw, ...(await fileOf(type, bytes)) };
    const made = chat.instead?.(call) ?? (await serve(call, sent));
    response.writeHead(made.status, { 'content-type': 'application/json', ...made.headers }).end(JSON.stringify(made.body));
  }

  async function serve(call: ChatCall, sent: Sent): Promise<Answer> {
    switch (call.service) {
      case 'slack':
        return slack(call, sent);
      case 'telegram':
        return telegram(call, sent);
      case 'discord':
        return discord(call, sent);
      case 'desk':
        await add(call, { ...sent, place: 'desk', thread: null, text: JSON.stringify(call.body) });
        return { status: 200, body: {} };
      default:
        return call.service satisfies never;
    }
  }

  async function add(
    { service, body }: ChatCall,
    message: Pick<ChatMessage, 'place' | 'thread' | 'text' | 'headers' | 'raw' | 'file'>,
  ): Promise<ChatMessage> {
    serial += 1;
    const id = service === 'slack' ? `${Math.floor(Date.now() / 1_000)}.${String(serial).padStart(6, '0')}` : String(1_000_000 + serial);
    const made: ChatMessage = { service, id, ...message, body, edits: 0 };
    messages.push(made);
    await chat.onMessage?.(made);
    return made;
  }

  function edit(
    service: ChatService,
    id: string,
    change: { readonly text: string; readonly body: Record<string, unknown> },
  ): ChatMessage | null {
    const found = messages.find((message) => message.service === service && message.id === id);
    if (!found) return null;
    Object.assign(found, change, { edits: found.edits + 1 });
    return found;
  }

  async function slack({ path, body, ...call }: ChatCall, sent: Sent): Promise<Answer> {
    const ok = (more: object): Answer => ({ status: 200, body: { ok: true, ...more } });
    const no = (error: string): Answer => ({ status: 200, body: { ok: false, error } });
    if (sent.headers.authorization !== 'Bearer xoxb-good') return no('invalid_auth');
    const place = String(body['channel'] ?? '');
    const thread = typeof body['thread_ts'] === 'string' ? body['thread_ts'] : typeof body['ts'] === 'string' ? body['ts'] : null;
    switch (path) {
      case 'auth.test':
        return ok({ user_id: 'UBOT', user: 'agent', team: 'Team', team_id: 'T1TEAM' });
      case 'chat.postMessage':
      case 'chat.update': {
        const texts = slackTexts(body);
        if (texts.some(({ text }) => text.length > 3_000)) return no('invalid_blocks');
        if (texts.some(({ type, text }) => type === 'mrkdwn' && text.includes('BROKEN'))) return no('invalid_blocks');
        const text = texts[0]?.text ?? '';
        if (path === 'chat.update') {
          const edited = edit('slack', String(body['ts']), { text, body });
          return edited ? ok({ ts: edited.id }) : no('message_not_found');
        }
        if (place === 'CGONE') return no('channel_not_found');
        const made = await add({ ...call, path, body }, { ...sent, place, thread, text });
        return ok({ ts: made.id, channel: place });
      }
      case 'conversations.replies':
      case 'conversations.history': {
        const found = messages.filter((message) => message.service === 'slack' && message.place === place && message.thread === thread);
        const told = found.map((message) => ({
          ts: message.id,
          text: message.text,
          metadata: message.body['metadata'],
          ...(message.file ? { files: [{ id: `F${message.id}`, title: message.file.name }] } : {}),
        }));
        return ok({ messages: told });
      }
      case 'files.getUploadURLExternal': {
        const id = `F${(serial += 1)}`;
        uploads.set(`/slack/upload/${id}`, { name: String(body['filename']), bytes: Buffer.alloc(0) });
        expectedBytes.set(id, Number(body['length']));
        return ok({ upload_url: `${origin}/slack/upload/${id}`, file_id: id });
      }
      case 'files.completeUploadExternal': {
        const [{ id = '', title = '' } = {}] = body['files'] as { id?: string; title?: string }[]; // our own client sends a list
        const file = uploads.get(`/slack/upload/${id}`);
        if (!file || file.bytes.length !== expectedBytes.get(id)) return no('file_not_found');
        await add(
          { ...call, path, body },
          { ...sent, place: String(body['channel_id']), thread, text: '', file: { ...file, name: title } },
        );
        return ok({ files: [{ id, title }] });
      }
      default:
        return no('unknown_method');
    }
  }

  async function telegram({ path, body, ...call }: ChatCall, sent: Sent): Promise<Answer> {
    const [bot = '', method = ''] = path.split('/');
    const no = (code: number, description: string): Answer => ({ status: code, body: { ok: false, error_code: code, description } });
    const ok = (result: unknown): Answer => ({ status: 200, body: { ok: true, result } });
    if (bot !== 'bot42:good') return no(401, 'Unauthorized');
    if (method === 'getMe') return ok({ id: 42, is_bot: true, first_name: 'Agent', username: 'agent_bot' });
    if (method === 'getWebhookInfo') return ok({ url: hookUrl, pending_update_count: 0 });
    if (method === 'setWebhook') {
      hookUrl = String(body['url']);
      return ok(true);
    }
    if (method === 'getFile') return ok({ file_id: body['file_id'], file_path: `docs/${String(body['file_id'])}` });
    const text = String(body['text'] ?? '');
    const fault = body['parse_mode'] === 'HTML' ? htmlFault(text) : null;
    if (fault !== null) return no(400, `Bad Request: can't parse entities: ${fault}`);
    if (plainOf(text).length > 4_096) return no(400, 'Bad Request: message is too long');
    if (method === 'editMessageText') {
      const edited = edit('telegram', String(body['message_id']), { text, body });
      return edited ? ok({ message_id: Number(edited.id) }) : no(400, 'Bad Request: message to edit not found');
    }
    if (method === 'sendDocument' && !sent.file) return no(400, 'Bad Request: there is no document in the request');
    if (method !== 'sendMessage' && method !== 'sendDocument') return no(404, 'Not Found');
    const made = await add({ ...call, path, body }, { ...sent, place: String(body['chat_id']), thread: null, text });
    return ok({ message_id: Number(made.id), chat: { id: body['chat_id'] }, text });
  }
  let hookUrl = '';

  async function discord({ path, body, ...call }: ChatCall, sent: Sent): Promise<Answer> {
    const content = String(body['content'] ?? '');
    const deferred = /^webhooks\/\d+\/([^/]+)\/messages\/@original$/.exec(path)?.[1];
    if (deferred !== undefined) {
      if (content.length > 2_000) return { status: 400, body: { message: 'Invalid Form Body', code: 50_035 } };
      if (deferred === 'expired') return { status: 404, body: { message: 'Unknown Webhook', code: 10_015 } };
      const known = messages.find((message) => message.service === 'discord' && message.thread === deferred);
      if (known) return { status: 200, body: { id: edit('discord', known.id, { text: content, body })?.id } };
      const made = await add({ ...call, path, body }, { ...sent, place: 'deferred', thread: deferred, text: content });
      return { status: 200, body: { id: made.id } };
    }
    if (sent.headers.authorization !== 'Bot good') return { status: 401, body: { message: '401: Unauthorized', code: 0 } };
    if (path === 'users/@me') return { status: 200, body: { id: '77', username: 'agent', bot: true } };
    if (/^applications\/\d+\/commands$/.test(path)) return { status: 201, body: { id: '5', ...body } };
    const [, place = '', , id] = path.split('/');
    if (call.method === 'GET') {
      const found = messages.filter((message) => message.service === 'discord' && message.place === place);
      return {
        status: 200,
        body: found.map((message) => ({
          id: message.id,
          content: message.text,
          attachments: message.file ? [{ id: '1', filename: message.file.name }] : [],
          author: { id: '77', bot: true },
          timestamp: new Date().toISOString(),
        })),
      };
    }
    if (content.length > 2_000) return { status: 400, body: { message: 'Invalid Form Body', code: 50_035 } };
    if ((sent.file?.bytes.length ?? 0) > 10 * 1024 * 1024)
      return { status: 413, body: { message: 'Request entity too large', code: 40_005 } };
    if (call.method === 'PATCH') return { status: 200, body: { id: edit('discord', id ?? '', { text: content, body })?.id } };
    const same = messages.find(
      (message) =>
        message.service === 'discord' &&
        message.place === place &&
        body['enforce_nonce'] === true &&
        message.body['nonce'] === body['nonce'],
    );
    if (same) return { status: 200, body: { id: same.id, content: same.text } };
    const made = await add({ ...call, path, body }, { ...sent, place, thread: null, text: content });
    return { status: 200, body: { id: made.id, content } };
  }

  return chat;
}

/** A form with a file; null: the body is none. */
async function formOf(type: string, bytes: Buffer): Promise<FormData | null> {
  if (!type.startsWith('multipart/form-data')) return null;
  return new Response(new Uint8Array(bytes), { headers: { 'content-type': type } }).formData();
}

/** Its texts; what is JSON as its value. */
function fieldsOf(form: FormData | null): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const [name, value] of form ?? [])
    if (typeof value === 'string') Object.assign(fields, name === 'payload_json' ? JSON.parse(value) : { [name]: value });
  return fields;
}

async function fileOf(type: string, bytes: Buffer): Promise<{ file?: ChatFile }> {
  for (const [, value] of (await formOf(type, bytes)) ?? [])
    if (typeof value !== 'string') return { file: { name: value.name, bytes: Buffer.from(await value.arrayBuffer()) } };
  return {};
}

function slackTexts(body: Record<string, unknown>): { readonly type: string; readonly text: string }[] {
  const blocks = Array.isArray(body['blocks']) ? body['blocks'] : [];
  return blocks.flatMap((block: { readonly text?: { readonly type: string; readonly text: string } }) => (block.text ? [block.text] : []));
}

/** Why Telegram would not take a text as HTML: every tag that opens closes, in order. */
function htmlFault(html: string): string | null {
  const open: string[] = [];
  for (const [, isEnd, name = ''] of html.matchAll(/<(\/?)([a-z]+)[^<>]*>/g)) {
    if (isEnd === '') open.push(name);
    else if (open.pop() !== name) return `unexpected end tag ${name}`;
  }
  if (html.includes('BROKEN')) return 'unsupported start tag';
  return open.length === 0 ? null : `can't find end tag ${open[0]}`;
}

function plainOf(html: string): string {
  return html
    .replaceAll(/<\/?[a-z]+[^<>]*>/g, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&amp;', '&');
}
