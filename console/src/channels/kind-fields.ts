import type { FormField, Values } from '../ui/form-fields.tsx';
import { channelTexts as c } from './messages.ts';

export const channelKinds = ['slack', 'telegram', 'discord', 'email', 'webhook'] as const;
export type ChannelKind = (typeof channelKinds)[number];

const setting = (name: keyof typeof c.settings): FormField => ({ name: `settings.${name}`, label: c.settings[name] });
const secret = (name: keyof typeof c.secrets): FormField => ({
  kind: 'password',
  name: `secrets.${name}`,
  label: c.secrets[name],
  autoComplete: 'off',
  hint: c.keepSecret,
});

/** What each service needs to be reached. */
const fieldsByKind: Readonly<Record<ChannelKind, readonly FormField[]>> = {
  slack: [setting('team_id'), secret('bot_token'), secret('signing_secret')],
  telegram: [secret('bot_token')],
  discord: [setting('application_id'), setting('public_key'), secret('bot_token')],
  email: [
    setting('address'),
    { name: 'settings.smtp.host', label: c.settings.host },
    { name: 'settings.smtp.port', label: c.settings.port, inputMode: 'numeric' },
    { kind: 'check', name: 'settings.smtp.tls', label: c.settings.tls },
    { name: 'settings.smtp.user', label: c.settings.user },
    { kind: 'check', name: 'settings.require_authenticated', label: c.settings.require_authenticated },
    secret('smtp_password'),
    secret('inbound_token'),
  ],
  webhook: [setting('outbound_url'), secret('signing_secret')],
};

export const kindOf = (value: string | undefined): ChannelKind => channelKinds.find((one) => one === value) ?? 'slack';
export const fieldsOf = (kind: ChannelKind): readonly FormField[] => fieldsByKind[kind];

export function settingsOf(kind: ChannelKind, values: Values): Record<string, unknown> {
  const text = (name: string) => (values[`settings.${name}`] ?? '').trim();
  switch (kind) {
    case 'slack':
      return text('team_id') === '' ? {} : { team_id: text('team_id') };
    case 'telegram':
      return {};
    case 'discord':
      return { application_id: text('application_id'), public_key: text('public_key') };
    case 'email':
      return {
        address: text('address'),
        smtp: { host: text('smtp.host'), port: Number(text('smtp.port')), tls: text('smtp.tls') === 'true', user: text('smtp.user') },
        require_authenticated: text('require_authenticated') === 'true',
      };
    case 'webhook':
      return { outbound_url: text('outbound_url') };
    default:
      return kind satisfies never;
  }
}

/** Those that have been typed. */
export function secretsOf(kind: ChannelKind, values: Values): Record<string, string> {
  const names = fieldsOf(kind).flatMap(({ name }) => (name.startsWith('secrets.') ? [name] : []));
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = values[name] ?? '';
      return value === '' ? [] : [[name.slice('secrets.'.length), value] as const];
    }),
  );
}

/** Settings as fields hold them. */
export function settingValues(settings: Readonly<Record<string, unknown>>, prefix = 'settings'): Values {
  return Object.fromEntries(
    Object.entries(settings).flatMap(([name, value]): [string, string][] =>
      typeof value === 'object' && value !== null
        ? Object.entries(settingValues(value as Record<string, unknown>, `${prefix}.${name}`)) // told by the line above
        : [[`${prefix}.${name}`, value === false || value === null ? '' : String(value)]],
    ),
  );
}
