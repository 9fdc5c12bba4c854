import { callService, filePart, limited, policyOf, trySend, type ServiceAnswer } from './call-service.ts';
import { listIn, member, textOf } from './members.ts';
import {
  buttonValue,
  LookupFailed,
  Refused,
  type ChannelService,
  type SendOutcome,
  type ServiceChannel,
  type ServiceDeps,
  type ServiceFile,
  type ServicePart,
} from './service.ts';

const original = '@original';

/** Discord, by its HTTP API (https://discord.com/developers/docs/reference): the first part fills the deferred reply, the others are messages of the bot. */
export const discord: ChannelService = {
  send: (deps, channel, part) =>
    trySend(async () => {
      if (part.token !== null && part.part === 0) {
        const filled = await fillDeferred(deps, channel, part);
        if (filled !== null) return filled;
      }
      const url = `${deps.urls.discord}/channels/${part.route['channel_id'] ?? ''}/messages`;
      // The service accepts one message per nonce, and returns the first again: it may be a draft whose id was not stored.
      const answer = await callService(deps, {
        url,
        headers: bot(channel),
        body: { ...contentOf(part), nonce: nonceOf(part), enforce_nonce: true },
      });
      const sent = judged(answer);
      const stands = textOf(answer.body, 'content');
      if (sent.result !== 'sent' || sent.externalId === null || stands === '' || stands === part.text) return sent;
      return judged(
        await callService(deps, { method: 'PATCH', url: `${url}/${sent.externalId}`, headers: bot(channel), body: contentOf(part) }),
      );
    }),
  edit: (deps, channel, { externalId, ...part }) =>
    trySend(async () => {
      if (externalId === original)
        return (await fillDeferred(deps, channel, part)) ?? { result: 'failed', error: 'the reply can no longer be edited' };
      const url = `${deps.urls.discord}/channels/${part.route['channel_id'] ?? ''}/messages/${externalId}`;
      return judged(await callService(deps, { method: 'PATCH', url, headers: bot(channel), body: contentOf(part) }));
    }),
  afterUncertain: findPart,
  files: {
    kind: 'upload',
    // https://discord.com/developers/docs/reference#uploading-files: the size that a bot may send everywhere.
    maxBytes: 10 * 1024 * 1024,
    afterUncertain: findFile,
    upload: (deps, channel, part) =>
      trySend(async () => {
        const form = new FormData();
        const attachments = [{ id: 0, filename: part.file.name }];
        form.set(
          'payload_json',
          JSON.stringify({ attachments, nonce: nonceOf(part), enforce_nonce: true, allowed_mentions: { parse: [] } }),
        );
        form.set('files[0]', await filePart(part.file), part.file.name);
        const url = `${deps.urls.discord}/channels/${part.route['channel_id'] ?? ''}/messages`;
        return judged(await callService(deps, { url, headers: bot(channel), form }));
      }),
  },
  async check(deps, channel) {
    const { status, body } = await callService(deps, { method: 'GET', url: `${deps.urls.discord}/users/@me`, headers: bot(channel) });
    const isOk = status === 200 && textOf(body, 'id') !== '';
    const checks = [{ name: 'users/@me', ok: isOk, detail: isOk ? textOf(body, 'username') : textOf(body, 'message') || `HTTP ${status}` }];
    return { checks, identity: isOk ? { id: textOf(body, 'id'), name: textOf(body, 'username') } : null };
  },
  routeTo: (to) => (/^\d{5,25}$/.test(to) ? { channel_id: to } : null),
  async register(deps, channel) {
    const me = await callService(deps, { method: 'GET', url: `${deps.urls.discord}/users/@me`, headers: bot(channel) });
    if (me.status !== 200) throw new Refused(textOf(me.body, 'message') || `HTTP ${me.status}`);
    const url = `${deps.urls.discord}/applications/${channel.settings.application_id ?? ''}/commands`;
    const made = await callService(deps, { url, headers: bot(channel), body: command });
    if (made.status !== 200 && made.status !== 201) throw new Refused(textOf(made.body, 'message') || `HTTP ${made.status}`);
    return { id: textOf(me.body, 'id'), name: textOf(me.body, 'username') };
  },
  async fileAt(deps, _channel, source) {
    if (!URL.canParse(source)) return null;
    const url = new URL(source);
    const isDiscord = url.protocol === 'https:' && url.port === '' && ['cdn.discordapp.com', 'media.discordapp.net'].includes(url.hostname);
    if (!isDiscord && url.origin !== new URL(deps.urls.discord).origin) return null;
    return { url: source, headers: {}, policy: policyOf(source) };
  },
};

function nonceOf({ id }: ServicePart): string {
  return Buffer.from(id.replaceAll('-', ''), 'hex').toString('base64url');
}

/** `POST /applications/{id}/commands` replaces a command of the same name. */
const command = {
  name: 'ask',
  type: 1,
  description: 'Ask the agent',
  options: [
    { type: 3, name: 'message', description: 'What you want to know', required: true, max_length: 6_000 },
    { type: 11, name: 'file', description: 'A file that belongs to it', required: false },
  ],
};

function bot({ secrets }: ServiceChannel): Record<string, string> {
  return { 'authorization': `Bot ${secrets['bot_token'] ?? ''}`, 'user-agent': 'DiscordBot (https://longhaul.invalid, 1)' };
}

/** Writes the same text however often it is tried. Null: the reply is past its 15 minutes or deleted. */
async function fillDeferred(deps: ServiceDeps, { settings }: ServiceChannel, part: ServicePart): Promise<SendOutcome | null> {
  const url = `${deps.urls.discord}/webhooks/${settings.application_id ?? ''}/${part.token ?? ''}/messages/${original}`;
  const answer = await callService(deps, { method: 'PATCH', url, body: contentOf(part) });
  if (answer.status === 404 || answer.status === 401) return null;
  const outcome = judged(answer);
  return outcome.result === 'sent' ? { ...outcome, externalId: original } : outcome;
}

function contentOf({ runId, text, hasButtons }: ServicePart): object {
  const button = (rating: 'up' | 'down', emoji: string) => ({
    type: 2,
    style: 2,
    emoji: { name: emoji },
    custom_id: buttonValue(runId, rating),
  });
  const components = hasButtons ? [{ type: 1, components: [button('up', '👍'), button('down', '👎')] }] : [];
  return { content: text, allowed_mentions: { parse: [] }, components };
}

function judged(answer: ServiceAnswer): SendOutcome {
  const { status, body } = answer;
  if (status === 429) return limited(answer);
  if (status >= 200 && status < 300) return { result: 'sent', externalId: textOf(body, 'id') || null };
  const error = textOf(body, 'message').slice(0, 200) || `HTTP ${status}`;
  return { result: status >= 500 || status === 408 ? 'uncertain' : 'refused', error };
}

function findPart(deps: ServiceDeps, channel: ServiceChannel, part: ServicePart): Promise<string | null> {
  return findMessage(deps, channel, { part, isIt: (message) => textOf(message, 'content') === part.text });
}

/** Finds a file by its name, which no other file of the answer has. */
function findFile(deps: ServiceDeps, channel: ServiceChannel, part: ServicePart & { readonly file: ServiceFile }): Promise<string | null> {
  const isIt = (message: unknown) => listIn(message, 'attachments').some((file) => textOf(file, 'filename') === part.file.name);
  return findMessage(deps, channel, { part, isIt });
}

interface Sought {
  readonly part: ServicePart;
  readonly isIt: (message: unknown) => boolean;
}

/** Discord itself recognizes a nonce that is younger than a few minutes; after that the newest messages are searched. */
async function findMessage(deps: ServiceDeps, channel: ServiceChannel, { part, isIt }: Sought): Promise<string | null> {
  if (Date.now() - part.since.getTime() < nonceMs) return null;
  const url = `${deps.urls.discord}/channels/${part.route['channel_id'] ?? ''}/messages?limit=100`;
  const { status, body } = await callService(deps, { method: 'GET', url, headers: bot(channel) });
  // Where the bot may not read, only the nonce prevents a second message.
  if (status === 403 || status === 404) return null;
  if (status !== 200 || !Array.isArray(body)) throw new LookupFailed(textOf(body, 'message') || `HTTP ${status}`);
  const found = body.find(
    (message) =>
      isIt(message) &&
      member(member(message, 'author'), 'bot') === true &&
      Date.parse(textOf(message, 'timestamp')) >= part.since.getTime() - clockMs,
  );
  return found === undefined ? null : textOf(found, 'id');
}

const nonceMs = 60_000;
/** How far Discord's clock and ours may differ. */
const clockMs = 10_000;
