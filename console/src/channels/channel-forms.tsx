import { useQueryClient } from '@tanstack/react-query';
import { etagOf } from '@longhaul/client';
import { api, type Views } from '../app/api.ts';
import { t } from '../messages/en.ts';
import { useAgents, type Agents } from '../app/use-agents.ts';
import { choices, isTrue, textOf } from '../ui/form-values.ts';
import { FormDialog } from '../ui/form-dialog.tsx';
import type { FormField, Values } from '../ui/form-fields.tsx';
import { fieldsOf, kindOf, secretsOf, settingsOf, settingValues, type ChannelKind } from './kind-fields.ts';
import { channelTexts as c } from './messages.ts';

const busyRules = ['enqueue', 'interrupt', 'steer'] as const;

const fieldsFor = (kind: ChannelKind, { options }: Agents): readonly FormField[] => [
  { name: 'name', label: c.name },
  { kind: 'choice', name: 'agent_id', label: c.agent, options },
  ...fieldsOf(kind),
  { name: 'persona_slug', label: c.persona },
  { kind: 'choice', name: 'on_busy', label: c.busy, options: choices(c.busyRules) },
  { kind: 'choice', name: 'session_scope', label: c.session, options: choices(c.sessions) },
  { kind: 'choice', name: 'reply_to', label: c.reply, options: choices(c.replies) },
  { kind: 'area', name: 'allowed_senders', label: c.senders },
  { kind: 'area', name: 'allowed_bots', label: c.bots },
  { kind: 'check', name: 'streaming', label: c.streaming },
  { kind: 'check', name: 'feedback_buttons', label: c.feedback },
  { kind: 'check', name: 'is_active', label: c.active },
];

const linesOf = (value = '') =>
  value
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);

function toFields(kind: ChannelKind, values: Values) {
  const name = textOf(values['name']);
  const agent_id = values['agent_id'] ?? '';
  if (name === null || agent_id === '') return null;
  const secrets = secretsOf(kind, values);
  return {
    name,
    agent_id,
    settings: settingsOf(kind, values),
    ...(Object.keys(secrets).length > 0 && { secrets }),
    persona_slug: textOf(values['persona_slug']),
    on_busy: busyRules.find((one) => one === values['on_busy']) ?? 'enqueue',
    session_scope: values['session_scope'] === 'peer' ? ('peer' as const) : ('thread' as const),
    reply_to: values['reply_to'] === 'all' ? ('all' as const) : ('mentions' as const),
    allowed_senders: linesOf(values['allowed_senders']),
    allowed_bots: linesOf(values['allowed_bots']),
    streaming: isTrue(values['streaming']),
    feedback_buttons: isTrue(values['feedback_buttons']),
    is_active: isTrue(values['is_active']),
  };
}

export function AddChannel({ workspaceId }: { readonly workspaceId: string }) {
  const queries = useQueryClient();
  const agents = useAgents();
  return (
    <FormDialog<Views['ChannelCreate']>
      label={c.add}
      title={c.addTitle}
      submit={t.actions.save}
      isPrimary
      fields={(values) => [
        { kind: 'choice', name: 'kind', label: c.kind, options: choices(c.kinds) },
        ...fieldsFor(kindOf(values['kind']), agents),
      ]}
      initial={{
        'kind': 'slack',
        'agent_id': agents.options[0]?.id ?? '',
        'on_busy': 'enqueue',
        'session_scope': 'thread',
        'reply_to': 'mentions',
        'streaming': 'true',
        'is_active': 'true',
        'settings.require_authenticated': 'true',
        'settings.smtp.port': '587',
        'settings.smtp.tls': 'true',
      }}
      toContent={(values) => {
        const kind = kindOf(values['kind']);
        const fields = toFields(kind, values);
        return fields === null ? null : { ...fields, kind, workspace_id: workspaceId };
      }}
      write={(content, options) => api.createChannel(content, options)}
      onDone={() => void queries.invalidateQueries({ queryKey: ['channels'] })}
    />
  );
}

/** Secrets are never read: a field that stays empty keeps what is set. */
export function EditChannel({ channel: { id, kind } }: { readonly channel: Views['ChannelView'] }) {
  const queries = useQueryClient();
  const agents = useAgents();
  return (
    <FormDialog
      label={c.edit}
      title={c.editTitle}
      submit={t.actions.save}
      fields={fieldsFor(kind, agents)}
      read={async () => {
        const now = await api.getChannel({ channel_id: id });
        const values = {
          ...settingValues(now.settings),
          name: now.name,
          agent_id: now.agent_id,
          persona_slug: now.persona_slug ?? '',
          on_busy: now.on_busy,
          session_scope: now.session_scope,
          reply_to: now.reply_to,
          allowed_senders: now.allowed_senders.join('\n'),
          allowed_bots: now.allowed_bots.join('\n'),
          streaming: now.streaming ? 'true' : '',
          feedback_buttons: now.feedback_buttons ? 'true' : '',
          is_active: now.is_active ? 'true' : '',
        };
        return { values, etag: etagOf(now) };
      }}
      toContent={(values) => toFields(kind, values)}
      write={(content, options) => api.updateChannel({ channel_id: id, ...content }, options)}
      onDone={() => void queries.invalidateQueries({ queryKey: ['channels'] })}
    />
  );
}
