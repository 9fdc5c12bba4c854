import { callService, limited, policyOf, trySend, type ServiceAnswer } from './call-service.ts';
import { listIn, member, textOf } from './members.ts';
import {
  buttonValue,
  LookupFailed,
  type ChannelService,
  type SendOutcome,
  type ServiceChannel,
  type ServiceDeps,
  type ServicePart,
} from './service.ts';

const eventType = 'longhaul_part';
/** Errors of https://api.slack.com/methods/chat.postMessage after which plain text may pass. */
const aboutMarkup: ReadonlySet<string> = new Set(['invalid_blocks', 'invalid_blocks_format', 'msg_blocks_too_long', 'msg_too_long']);
/** Those that say nothing about what became of the message. */
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
    trySend(async () => judged(await call(deps, channel, 'chat.postMessage', { ...placeOf(part), ...contentOf(part), ...quiet }))),
  edit: (deps, channel, { externalId, ...part }) =>
    trySend(async () =>
      judged(await call(deps, channel, 'chat.update', { channel: part.route['channel'], ts: externalId, ...contentOf(part) })),
    ),
  afterUncertain: findPart,
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
  // The token opens files of Slack alone: an address in a message must not take it elsewhere.
  async fileAt(deps, channel, source) {
    if (!URL.canParse(source)) return null;
    const url = new URL(source);
    const isSlack = url.protocol === 'https:' && url.port === '' && /(?:^|\.)slack\.com$/.test(url.hostname);
    if (!isSlack && url.origin !== new URL(deps.urls.slack).origin) return null;
    return { url: source, headers: { authorization: `Bearer ${channel.secrets['bot_token'] ?? ''}` }, policy: policyOf(source) };
  },
};

const quiet = { unfurl_links: false, unfurl_media: false };

function call(deps: ServiceDeps, { secrets }: ServiceChannel, method: string, body: object): Promise<ServiceAnswer> {
  return callService(deps, {
    url: `${deps.urls.slack}/${method}`,
    headers: { authorization: `Bearer ${secrets['bot_token'] ?? ''}` },
    body,
  });
}

function placeOf({ route }: ServicePart): object {
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

/** Looks through the thread for the metadata that each part carries. */
async function findPart(deps: ServiceDeps, channel: ServiceChannel, part: ServicePart): Promise<string | null> {
  const { route, id, since } = part;
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
      headers: { authorization: `Bearer ${channel.secrets['bot_token'] ?? ''}` },
    });
    if (member(body, 'ok') !== true) throw new LookupFailed(textOf(body, 'error') || `HTTP ${status}`);
    for (const message of listIn(body, 'messages')) {
      const metadata = member(message, 'metadata');
      if (textOf(metadata, 'event_type') === eventType && textOf(member(metadata, 'event_payload'), 'id') === id)
        return textOf(message, 'ts');
    }
    cursor = textOf(member(body, 'response_metadata'), 'next_cursor');
    if (cursor === '') return null;
  }
  return null;
}
