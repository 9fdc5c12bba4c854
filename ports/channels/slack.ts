import { callService, limited, policyOf, trySend, type ServiceAnswer } from './call-service.ts';
import { listIn, member, textOf } from './members.ts';
import {
  buttonValue,
  LookupFailed,
  type ChannelService,
  type SendOutcome,
  type ServiceChannel,
  type ServiceDeps,
  type ServiceFile,
  type ServicePart,
} from './service.ts';

const eventType = 'longhaul_part';
/** Errors of https://api.slack.com/methods/chat.postMessage after which plain text may pass. */
const aboutMarkup: ReadonlySet<string> = new Set(['invalid_blocks', 'invalid_blocks_format', 'msg_blocks_too_long', 'msg_too_long']);
/** Errors that say nothing about what happened to the message. */
const aboutSlack: ReadonlySet<string> = new Set([
  'internal_error',
  'fatal_error',
  'request_timeout',
  'service_unavailable',
  'team_added_to_org',
]);

/** Slack, by its Web API (https://api.slack.com/web). */
export const slack: ChannelService = {
  send: (deps, channel, part) =>
    trySend(async () => judged(await call(deps, channel, 'chat.postMessage', { ...routeOf(part), ...contentOf(part), ...quiet }))),
  edit: (deps, channel, { externalId, ...part }) =>
    trySend(async () =>
      judged(await call(deps, channel, 'chat.update', { channel: part.route['channel'], ts: externalId, ...contentOf(part) })),
    ),
  afterUncertain: findPart,
  files: { kind: 'upload', maxBytes: 20 * 1024 * 1024, upload, afterUncertain: findFile },
  async check(deps, channel) {
    const { body, status } = await call(deps, channel, 'auth.test', {});
    const isOk = member(body, 'ok') === true;
    const detail = isOk ? `${textOf(body, 'user')} in ${textOf(body, 'team')}` : textOf(body, 'error') || `HTTP ${status}`;
    const checks = [{ name: 'auth.test', ok: isOk, detail }];
    const team = channel.settings.team_id ?? null;
    if (isOk && team !== null) checks.push({ name: 'team_id', ok: textOf(body, 'team_id') === team, detail: textOf(body, 'team_id') });
    return { checks, identity: isOk ? { id: textOf(body, 'user_id'), name: textOf(body, 'user') } : null };
  },
  routeTo: (to) => (/^[A-Z0-9]{2,40}$/.test(to) ? { channel: to } : null),
  // The token opens only files of Slack: an address in a message must not send it elsewhere.
  async fileAt(deps, channel, source) {
    if (!isOfSlack(deps, source)) return null;
    return { url: source, headers: bot(channel), policy: policyOf(source) };
  },
};

/** https://docs.slack.dev/reference/methods/files.getUploadURLExternal: get an address, send the bytes to it, and post the file to the thread. */
function upload(deps: ServiceDeps, channel: ServiceChannel, part: UploadedPart): Promise<SendOutcome> {
  return trySend(async () => {
    const { file, route } = part;
    const query = new URLSearchParams({ filename: file.name, length: String(file.bytes) });
    const place = await callService(deps, {
      method: 'GET',
      url: `${deps.urls.slack}/files.getUploadURLExternal?${query}`,
      headers: bot(channel),
    });
    const [url, id] = [textOf(place.body, 'upload_url'), textOf(place.body, 'file_id')];
    // Nothing appears in the thread before the last call.
    const failed = (answer: ServiceAnswer): SendOutcome => {
      const outcome = judged(answer);
      return outcome.result === 'uncertain' ? { result: 'failed', error: outcome.error } : outcome;
    };
    if (member(place.body, 'ok') !== true) return failed(place);
    if (!isOfSlack(deps, url)) return { result: 'refused', error: 'the address for the file is not one of Slack' };
    const stored = await callService(deps, { url, form: await file.read() });
    if (stored.status !== 200) return { result: stored.status >= 500 ? 'failed' : 'refused', error: `HTTP ${stored.status}` };
    const shared = {
      files: [{ id, title: file.name }],
      channel_id: route['channel'],
      ...(route['thread_ts'] === undefined ? {} : { thread_ts: route['thread_ts'] }),
    };
    const done = judged(await call(deps, channel, 'files.completeUploadExternal', shared));
    return done.result === 'sent' ? { result: 'sent', externalId: id } : done;
  });
}

type UploadedPart = ServicePart & { readonly file: ServiceFile };

/** The token and the content of a file go only to Slack. */
function isOfSlack(deps: ServiceDeps, address: string): boolean {
  if (!URL.canParse(address)) return false;
  const url = new URL(address);
  const isSlack = url.protocol === 'https:' && url.port === '' && /(?:^|\.)slack\.com$/.test(url.hostname);
  return isSlack || url.origin === new URL(deps.urls.slack).origin;
}

const quiet = { unfurl_links: false, unfurl_media: false };

function call(deps: ServiceDeps, channel: ServiceChannel, method: string, body: object): Promise<ServiceAnswer> {
  return callService(deps, { url: `${deps.urls.slack}/${method}`, headers: bot(channel), body });
}

function bot({ secrets }: ServiceChannel): Record<string, string> {
  return { authorization: `Bearer ${secrets['bot_token'] ?? ''}` };
}

function routeOf({ route }: ServicePart): object {
  return { channel: route['channel'], ...(route['thread_ts'] === undefined ? {} : { thread_ts: route['thread_ts'] }) };
}

function contentOf({ id, runId, text, rendered, isPlain, hasButtons }: ServicePart): object {
  const shown = isPlain ? { type: 'plain_text', text, emoji: false } : { type: 'mrkdwn', text: rendered, verbatim: true };
  const blocks = [{ type: 'section', text: shown }, ...(hasButtons ? [buttonsOf(runId)] : [])];
  return { text: isPlain ? text : rendered, blocks, metadata: { event_type: eventType, event_payload: { id } } };
}

function buttonsOf(runId: string): object {
  const button = (rating: 'up' | 'down', label: string) => ({
    type: 'button',
    action_id: `longhaul_${rating}`,
    value: buttonValue(runId, rating),
    text: { type: 'plain_text', text: label, emoji: true },
  });
  return { type: 'actions', elements: [button('up', '👍'), button('down', '👎')] };
}

function judged(answer: ServiceAnswer): SendOutcome {
  const { status, body } = answer;
  if (status === 429 || textOf(body, 'error') === 'ratelimited') return limited(answer);
  if (member(body, 'ok') === true) return { result: 'sent', externalId: textOf(body, 'ts') || null };
  const error = textOf(body, 'error');
  if (status >= 500 || error === '' || aboutSlack.has(error)) return { result: 'uncertain', error: error || `HTTP ${status}` };
  return { result: aboutMarkup.has(error) ? 'markup' : 'refused', error };
}

const maxPages = 10;

/** Searches the thread for the metadata that each part carries. */
function findPart(deps: ServiceDeps, channel: ServiceChannel, part: ServicePart): Promise<string | null> {
  return findInThread(deps, channel, {
    part,
    idIn(message) {
      const metadata = member(message, 'metadata');
      const isPart = textOf(metadata, 'event_type') === eventType && textOf(member(metadata, 'event_payload'), 'id') === part.id;
      return isPart ? textOf(message, 'ts') : null;
    },
  });
}

/** A file has no metadata: it is recognized by its title, which no other file of the answer has, and by its time. */
function findFile(deps: ServiceDeps, channel: ServiceChannel, part: UploadedPart): Promise<string | null> {
  return findInThread(deps, channel, {
    part,
    idIn(message) {
      if (Number(textOf(message, 'ts')) * 1_000 < part.since.getTime() - clockMs) return null;
      const found = listIn(message, 'files').find((file) => textOf(file, 'title') === part.file.name);
      return found === undefined ? null : textOf(found, 'id');
    },
  });
}

/** How far Slack's clock and ours may differ. */
const clockMs = 10_000;

interface Sought {
  readonly part: ServicePart;
  /** Returns the id when the message is the one sought; otherwise null. */
  readonly idIn: (message: unknown) => string | null;
}

async function findInThread(deps: ServiceDeps, channel: ServiceChannel, { part, idIn }: Sought): Promise<string | null> {
  const { route, since } = part;
  const method = route['thread_ts'] === undefined ? 'conversations.history' : 'conversations.replies';
  const oldest = String(Math.floor(since.getTime() / 1_000) - 300);
  let cursor = '';
  for (let page = 0; page < maxPages; page += 1) {
    const query = new URLSearchParams({ channel: route['channel'] ?? '', include_all_metadata: 'true', limit: '200', oldest });
    if (route['thread_ts'] !== undefined) query.set('ts', route['thread_ts']);
    if (cursor !== '') query.set('cursor', cursor);
    const { status, body } = await callService(deps, {
      method: 'GET',
      url: `${deps.urls.slack}/${method}?${query}`,
      headers: bot(channel),
    });
    if (member(body, 'ok') !== true) throw new LookupFailed(textOf(body, 'error') || `HTTP ${status}`);
    const found = listIn(body, 'messages')
      .map(idIn)
      .find((id) => id !== null && id !== '');
    if (found) return found;
    cursor = textOf(member(body, 'response_metadata'), 'next_cursor');
    if (cursor === '') return null;
  }
  return null;
}
