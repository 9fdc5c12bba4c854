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

type Answer = { readonly status: number; readonly body: unknown; readonly headers?: Record<string, string> };

export async function startChatServer(): Promise<ChatServer> {
  const messages: ChatMessage[] = [];
  const calls: ChatCall[] = [];
  let serial = 0;
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
    let raw = '';
    for await (const part of request) raw += String(part);
    const file = chat.files.get(url.pathname);
    if (file) {
      const isOpen = file.needs === undefined || request.headers.authorization === file.needs;
      response.writeHead(isOpen ? 200 : 403, { 'content-type': file.type }).end(isOpen ? file.bytes : '');
      return;
    }
    const [, name = '', ...rest] = url.pathname.split('/');
    const service: ChatService = name === 'slack' || name === 'telegram' || name === 'discord' ? name : 'desk';
    const body = (raw === '' ? Object.fromEntries(url.searchParams) : JSON.parse(raw)) as Record<string, unknown>; // our own client sends JSON
    const call: ChatCall = { service, method: request.method ?? '', path: rest.join('/'), body };
    calls.push(call);
    const made = chat.instead?.(call) ?? (await serve(call, { headers: request.headers, raw }));
    response.writeHead(made.status, { 'content-type': 'application/json', ...made.headers }).end(JSON.stringify(made.body));
  }

  async function serve(call: ChatCall, sent: Pick<ChatMessage, 'headers' | 'raw'>): Promise<Answer> {
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
    message: Pick<ChatMessage, 'place' | 'thread' | 'text' | 'headers' | 'raw'>,
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

  async function slack({ path, body, ...call }: ChatCall, sent: Pick<ChatMessage, 'headers' | 'raw'>): Promise<Answer> {
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
        return ok({ messages: found.map((message) => ({ ts: message.id, text: message.text, metadata: message.body['metadata'] })) });
      }
      default:
        return no('unknown_method');
    }
  }

  async function telegram({ path, body, ...call }: ChatCall, sent: Pick<ChatMessage, 'headers' | 'raw'>): Promise<Answer> {
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
    if (method !== 'sendMessage') return no(404, 'Not Found');
    const made = await add({ ...call, path, body }, { ...sent, place: String(body['chat_id']), thread: null, text });
    return ok({ message_id: Number(made.id), chat: { id: body['chat_id'] }, text });
  }
  let hookUrl = '';

  async function discord({ path, body, ...call }: ChatCall, sent: Pick<ChatMessage, 'headers' | 'raw'>): Promise<Answer> {
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
          author: { id: '77', bot: true },
          timestamp: new Date().toISOString(),
        })),
      };
    }
    if (content.length > 2_000) return { status: 400, body: { message: 'Invalid Form Body', code: 50_035 } };
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
