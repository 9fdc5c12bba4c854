import { callService, filePart, limited, policyOf, trySend, type ServiceAnswer } from './call-service.ts';
import { member, textOf } from './members.ts';
import {
  buttonValue,
  Refused,
  type ChannelService,
  type SendOutcome,
  type ServiceChannel,
  type ServiceDeps,
  type ServicePart,
} from './service.ts';

/** Telegram, by its Bot API (https://core.telegram.org/bots/api). */
export const telegram: ChannelService = {
  send: (deps, channel, part) =>
    trySend(async () => judged(await call(deps, channel, 'sendMessage', { ...routeOf(part), ...contentOf(part) }))),
  edit: (deps, channel, { externalId, ...part }) =>
    trySend(async () => {
      const answer = await call(deps, channel, 'editMessageText', {
        chat_id: part.route['chat_id'],
        message_id: Number(externalId),
        ...contentOf(part),
      });
      if (/message is not modified/i.test(textOf(answer.body, 'description'))) return { result: 'sent', externalId };
      return judged(answer);
    }),
  // Telegram has no way to look up a sent message.
  afterUncertain: 'never',
  files: {
    kind: 'upload',
    maxBytes: 20 * 1024 * 1024,
    afterUncertain: 'never',
    upload: (deps, { secrets }, part) =>
      trySend(async () => {
        const form = new FormData();
        for (const [name, value] of Object.entries(routeOf(part)))
          if (value !== undefined) form.set(name, typeof value === 'object' ? JSON.stringify(value) : String(value));
        form.set('document', await filePart(part.file), part.file.name);
        return judged(await callService(deps, { url: `${deps.urls.telegram}/bot${secrets['bot_token'] ?? ''}/sendDocument`, form }));
      }),
  },
  async check(deps, channel) {
    const me = await call(deps, channel, 'getMe', {});
    const isOk = member(me.body, 'ok') === true;
    const checks = [{ name: 'getMe', ok: isOk, detail: isOk ? `@${nameOf(me)}` : refusalOf(me) }];
    if (!isOk) return { checks, identity: null };
    const hook = await call(deps, channel, 'getWebhookInfo', {});
    const url = textOf(member(hook.body, 'result'), 'url');
    const fault = textOf(member(hook.body, 'result'), 'last_error_message');
    checks.push({
      name: 'getWebhookInfo',
      ok: url !== '' && fault === '',
      detail: fault || (url === '' ? 'no address is set' : 'an address is set'),
    });
    return { checks, identity: identityOf(me) };
  },
  routeTo: (to) => (/^(?:-?\d{1,20}|@[A-Za-z0-9_]{4,40})$/.test(to) ? { chat_id: to } : null),
  async register(deps, channel, inboundUrl) {
    const me = await call(deps, channel, 'getMe', {});
    if (member(me.body, 'ok') !== true) throw new Refused(refusalOf(me));
    const set = await call(deps, channel, 'setWebhook', {
      url: inboundUrl,
      secret_token: channel.secrets['webhook_secret'],
      allowed_updates: ['message', 'callback_query'],
    });
    if (member(set.body, 'ok') !== true) throw new Refused(refusalOf(set));
    return identityOf(me);
  },
  async fileAt(deps, channel, source) {
    const found = await call(deps, channel, 'getFile', { file_id: source });
    const path = textOf(member(found.body, 'result'), 'file_path');
    if (path === '' || path.split('/').some((part) => part === '..')) return null;
    const url = `${deps.urls.telegram}/file/bot${channel.secrets['bot_token'] ?? ''}/${path.split('/').map(encodeURIComponent).join('/')}`;
    return { url, headers: {}, policy: policyOf(url) };
  },
};

function call(deps: ServiceDeps, { secrets }: ServiceChannel, method: string, body: object): Promise<ServiceAnswer> {
  return callService(deps, { url: `${deps.urls.telegram}/bot${secrets['bot_token'] ?? ''}/${method}`, body });
}

function routeOf({ route, part }: ServicePart): Record<string, unknown> {
  const { chat_id, message_thread_id, message_id } = route;
  return {
    chat_id,
    ...(message_thread_id === undefined ? {} : { message_thread_id: Number(message_thread_id) }),
    ...(message_id === undefined || part > 0
      ? {}
      : { reply_parameters: { message_id: Number(message_id), allow_sending_without_reply: true } }),
  };
}

function contentOf({ runId, text, rendered, isPlain, hasButtons }: ServicePart): object {
  const row = [
    { text: '👍', callback_data: buttonValue(runId, 'up') },
    { text: '👎', callback_data: buttonValue(runId, 'down') },
  ];
  return {
    ...(isPlain ? { text } : { text: rendered, parse_mode: 'HTML' }),
    link_preview_options: { is_disabled: true },
    ...(hasButtons ? { reply_markup: { inline_keyboard: [row] } } : {}),
  };
}

function judged(answer: ServiceAnswer): SendOutcome {
  const { status, body } = answer;
  if (status === 429) return limited(answer);
  if (member(body, 'ok') === true) return { result: 'sent', externalId: textOf(member(body, 'result'), 'message_id') || null };
  const error = textOf(body, 'description').slice(0, 200);
  if (status >= 500 || error === '') return { result: 'uncertain', error: error || `HTTP ${status}` };
  return { result: /can't parse entities|message is too long/i.test(error) ? 'markup' : 'refused', error };
}

function refusalOf({ status, body }: ServiceAnswer): string {
  return textOf(body, 'description').slice(0, 200) || `HTTP ${status}`;
}

function nameOf({ body }: ServiceAnswer): string {
  return textOf(member(body, 'result'), 'username');
}

function identityOf(me: ServiceAnswer) {
  return { id: textOf(member(me.body, 'result'), 'id'), name: nameOf(me) };
}
