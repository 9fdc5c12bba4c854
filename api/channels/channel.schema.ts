import Type, { type Static } from 'typebox';
import type { ChannelRow } from '../../db/channels/channels.ts';
import { channelBusyRules } from '../../db/channels/channel.entity.ts';
import { iso } from '../../db/sql.ts';
import type { ChannelChange, ChannelFields } from '../../domain/channels/channels.ts';
import { type ChannelKind, channelKinds, channelStates, replyRules, sessionScopes } from '../../workflows/contracts/triggers/channels.ts';
import { fieldsSet } from '../http/operation/changes.ts';
import { kindRules, minSecretChars } from '../../domain/channels/channel-rules.ts';
import { closed, FreeObject, idOf, listOf, nullable, oneOf, stating, text, Timestamp } from '../http/input/schema.ts';

export const ChannelParams = closed({ channel_id: idOf('Channel', 'The channel whose service sends the request') });

const Kind = oneOf(channelKinds, { description: 'The chat service' });
const Name = text(120, { minLength: 1, description: 'What people call it' });
const Agent = idOf('Agent', 'Who answers');
const Settings = {
  ...FreeObject,
  description:
    'Depends on the kind. slack: team_id, optional. telegram: none. discord: application_id and public_key. email: address, smtp {host, port, tls, user} and require_authenticated (true). webhook: outbound_url, to which answers are posted.',
};
const OnBusy = oneOf(channelBusyRules, {
  description: 'What happens to a message while a run of its conversation is active: it is queued, replaces the run, or joins it',
});
const SessionScope = oneOf(sessionScopes, {
  description: 'What forms one conversation: the messages of a thread, or all messages of a sender',
});
const ReplyTo = oneOf(replyRules, { description: 'Which group messages are answered; direct messages always are' });
const Senders = (description: string) => listOf(text(320, { minLength: 1 }), { maxItems: 500, description });
const AllowedSenders = Senders('Ids of senders, or globs of mail addresses, that are answered; empty: all senders');
const AllowedBots = Senders('Ids of bots that are answered, at most three times in a row without a message from a person; empty: none');
const Streaming = Type.Boolean({
  description: 'Whether the answer is shown while it is being written, where the service supports editing messages',
});
const FeedbackButtons = Type.Boolean({ description: 'Whether answers have two buttons for voting on the run' });
const IsActive = Type.Boolean({ description: 'false: its address answers 404' });
const Persona = text(120, { minLength: 1, description: 'Persona of its runs; null: the agent’s default' });

export const ChannelView = closed(
  {
    id: idOf('Channel'),
    kind: Kind,
    name: Name,
    agent_id: Agent,
    settings: Settings,
    inbound_url: text(400, { description: 'The address to which the service delivers its messages' }),
    secret_names: listOf(text(60), { description: 'Which secrets are set; their values are never shown' }),
    persona_slug: nullable(Persona),
    on_busy: OnBusy,
    session_scope: SessionScope,
    reply_to: ReplyTo,
    allowed_senders: AllowedSenders,
    allowed_bots: AllowedBots,
    streaming: Streaming,
    feedback_buttons: FeedbackButtons,
    is_active: IsActive,
    state: oneOf(channelStates, { description: 'pending: nothing has been sent and the channel has not been tested yet' }),
    last_error: nullable(text(300, { description: 'Why the service did not accept the last message' })),
    last_inbound_at: nullable({ ...Timestamp, description: 'When the last message arrived' }),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { $id: 'ChannelView', description: 'A chat service connected to an agent, without its secrets' },
);

const changeable = {
  persona_slug: Type.Optional(nullable(Persona)),
  on_busy: Type.Optional(OnBusy),
  session_scope: Type.Optional(SessionScope),
  reply_to: Type.Optional(ReplyTo),
  allowed_senders: Type.Optional(AllowedSenders),
  allowed_bots: Type.Optional(AllowedBots),
  streaming: Type.Optional(Streaming),
  feedback_buttons: Type.Optional(FeedbackButtons),
  is_active: Type.Optional(IsActive),
};

const secretText = { type: 'string', minLength: 1, maxLength: 1_000 };
const Secrets = Type.Unsafe<Record<string, string>>({
  type: 'object',
  additionalProperties: secretText,
  maxProperties: 10,
  description:
    'Depends on the kind. slack: bot_token and signing_secret. telegram and discord: bot_token. email: smtp_password and inbound_token. webhook: signing_secret. Never shown.',
});
const ChangedSecrets = Type.Unsafe<Record<string, string | null>>({
  type: 'object',
  additionalProperties: { ...secretText, type: ['string', 'null'] },
  maxProperties: 10,
  description: 'Secrets to replace; null removes a secret that the kind does not require',
});

/** What settings and secrets a kind has: each is text but those of the mail server. */
function ofKind(kind: ChannelKind) {
  const { settings, secrets } = kindRules[kind];
  const names = Object.keys(settings);
  const properties = Object.fromEntries(
    Object.entries(settings).map(([name, { isRequired, stated }]) => [name, isRequired ? stated : orNull(stated)]),
  );
  const required = names.filter((name) => settings[name]?.isRequired);
  const secret = (name: string) => ({ type: 'string', pattern: '^[!-~]*$', minLength: minSecretChars(kind, name), maxLength: 1_000 });
  return {
    settings: { properties, required, additionalProperties: false },
    secrets: {
      properties: Object.fromEntries(secrets.map((name) => [name, secret(name)])),
      required: secrets,
      additionalProperties: false,
    },
  };
}

function orNull(rule: object) {
  return { anyOf: [rule, { type: 'null' }] };
}

const byKind = {
  allOf: channelKinds.map((kind) => ({
    anyOf: [{ properties: { kind: { not: { const: kind } } } }, { properties: ofKind(kind), required: ['secrets'] }],
  })),
};

export const ChannelCreate = stating(
  closed(
    {
      workspace_id: Type.Optional(nullable(idOf('Workspace'))),
      kind: Kind,
      name: Name,
      agent_id: Agent,
      settings: Settings,
      secrets: Type.Optional(Secrets),
      persona_slug: changeable.persona_slug,
      on_busy: Type.Optional({ ...OnBusy, default: 'enqueue' }),
      session_scope: Type.Optional({ ...SessionScope, default: 'thread' }),
      reply_to: Type.Optional({ ...ReplyTo, default: 'mentions' }),
      allowed_senders: Type.Optional({ ...AllowedSenders, default: [] }),
      allowed_bots: Type.Optional({ ...AllowedBots, default: [] }),
      streaming: Type.Optional({ ...Streaming, default: true }),
      feedback_buttons: Type.Optional({ ...FeedbackButtons, default: false }),
      is_active: Type.Optional({ ...IsActive, default: true }),
    },
    { $id: 'ChannelCreate', description: 'A new channel; its kind cannot be changed later' },
  ),
  byKind,
);

export const ChannelUpdate = closed(
  {
    name: Type.Optional(Name),
    agent_id: Type.Optional(Agent),
    settings: Type.Optional(Settings),
    secrets: Type.Optional(ChangedSecrets),
    ...changeable,
  },
  { $id: 'ChannelUpdate', description: 'The fields that are sent are changed, the rest is kept' },
);

export const ChannelFilters = closed({
  kind: Type.Optional(Kind),
  agent_id: Type.Optional(idOf('Agent', 'Only channels of this agent')),
  is_active: Type.Optional(Type.Boolean({ description: 'Only channels that accept messages, or only those that do not' })),
});

export const ChannelTest = closed(
  {
    send_to: Type.Optional(
      nullable(
        text(320, {
          minLength: 1,
          description: 'Where to send a message: a Slack channel, a chat, a mail address, a thread; null sends none',
        }),
      ),
    ),
    text: Type.Optional(
      nullable(text(1_000, { minLength: 1, description: 'The text of the message; null: a text saying that it is a test' })),
    ),
  },
  { $id: 'ChannelTest', description: 'What to test besides the credentials' },
);

export const ChannelTestView = closed(
  {
    ok: Type.Boolean({ description: 'All checks passed' }),
    checks: listOf(
      closed({
        name: text(60, { description: 'What was checked' }),
        ok: Type.Boolean({ description: 'It passed' }),
        detail: text(300, { description: 'The answer of the service' }),
      }),
    ),
    identity: nullable(
      closed(
        { id: text(300, { description: 'Id of the bot' }), name: text(300, { description: 'The name that people see' }) },
        { description: 'The identity of the channel at its service' },
      ),
    ),
    sent_message_id: nullable(
      text(300, { description: 'The service’s id of the message that was sent; null if none was sent or the service returns no id' }),
    ),
  },
  { $id: 'ChannelTestView', description: 'The result of testing a channel. A failed test is not an error: `ok` is false' },
);

type Create = Static<typeof ChannelCreate>;
type Update = Static<typeof ChannelUpdate>;

/** The fields of a new channel, with their defaults. */
export function newChannelFields(body: Create): ChannelFields {
  return {
    agentId: body.agent_id,
    name: body.name,
    personaSlug: body.persona_slug ?? null,
    onBusy: body.on_busy ?? 'enqueue',
    sessionScope: body.session_scope ?? 'thread',
    replyTo: body.reply_to ?? 'mentions',
    allowedSenders: body.allowed_senders ?? [],
    allowedBots: body.allowed_bots ?? [],
    streaming: body.streaming ?? true,
    feedbackButtons: body.feedback_buttons ?? false,
    isActive: body.is_active ?? true,
  };
}

/** What a body changes. */
export function changedChannelFields(body: Update): ChannelChange {
  return fieldsSet<ChannelChange>({
    agentId: body.agent_id,
    name: body.name,
    personaSlug: body.persona_slug,
    onBusy: body.on_busy,
    sessionScope: body.session_scope,
    replyTo: body.reply_to,
    allowedSenders: body.allowed_senders,
    allowedBots: body.allowed_bots,
    streaming: body.streaming,
    feedbackButtons: body.feedback_buttons,
    isActive: body.is_active,
    settings: body.settings,
    secrets: body.secrets,
  });
}

/** The wire form of a channel. */
export function toChannelView(row: ChannelRow, publicUrl: string): Static<typeof ChannelView> {
  return {
    id: row.id,
    kind: row.kind,
    name: row.name,
    agent_id: row.agentId,
    settings: { ...row.settings },
    inbound_url: `${publicUrl}/channels/${row.id}/inbound`,
    secret_names: row.secretNames,
    persona_slug: row.personaSlug,
    on_busy: row.onBusy,
    session_scope: row.sessionScope,
    reply_to: row.replyTo,
    allowed_senders: row.allowedSenders,
    allowed_bots: row.allowedBots,
    streaming: row.streaming,
    feedback_buttons: row.feedbackButtons,
    is_active: row.isActive,
    state: row.state,
    last_error: row.lastError,
    last_inbound_at: iso(row.lastInboundAt),
    created_at: iso(row.createdAt),
    updated_at: iso(row.updatedAt),
  };
}
