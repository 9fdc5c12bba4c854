import type { ChannelKind, ChannelSettings } from '../../workflows/contracts/triggers/channels.ts';
import { refusalOfHost, refusalOfPlainMail, refusalOfUrl, type EgressPolicy } from '../../ports/egress/url.ts';
import { invalid } from '../../workflows/contracts/failure.ts';

/** What a kind needs to be known of it. */
interface KindRules {
  readonly settings: Readonly<Record<string, SettingRule>>;
  readonly secrets: readonly string[];
}

interface SettingRule {
  readonly isRequired: boolean;
  /** Of a text its pattern. */
  readonly form: RegExp | ((value: unknown) => boolean);
  readonly says: string;
}

const address = /^[^\s@<>()[\],;:\\"]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,186}[A-Za-z0-9])?$/;
const hostName = /^(?:[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?|\[?[0-9A-Fa-f:.]{3,45}\]?)$/;

/** Settings and secrets by kind; of Telegram's secrets one is made. */
export const kindRules: Readonly<Record<ChannelKind, KindRules>> = {
  slack: {
    settings: { team_id: { isRequired: false, form: /^T[A-Z0-9]{2,30}$/, says: 'must be the id of a Slack workspace, such as T0123ABCD' } },
    secrets: ['bot_token', 'signing_secret'],
  },
  telegram: { settings: {}, secrets: ['bot_token'] },
  discord: {
    settings: {
      application_id: { isRequired: true, form: /^\d{5,25}$/, says: 'must be the id of a Discord application' },
      public_key: { isRequired: true, form: /^[0-9a-fA-F]{64}$/, says: 'must be the public key of the application, 64 hexadecimal digits' },
    },
    secrets: ['bot_token'],
  },
  email: {
    settings: {
      address: { isRequired: true, form: address, says: 'must be a mail address' },
      smtp: {
        isRequired: true,
        form: isSmtp,
        says: 'must be {host, port, tls, user}: strings, a port number, and true or false for encryption',
      },
      require_authenticated: { isRequired: false, form: (value) => typeof value === 'boolean', says: 'must be true or false' },
    },
    secrets: ['smtp_password', 'inbound_token'],
  },
  webhook: {
    settings: { outbound_url: { isRequired: true, form: /^https?:\/\/[^]{1,1992}$/, says: 'must be a URL of at most 2000 characters' } },
    secrets: ['signing_secret'],
  },
};

/** Made by us and never shown: what Telegram sends along. */
export const madeSecret = 'webhook_secret';

const secretForm = /^[\x21-\x7e]{1,1000}$/;
const minSigningChars = 16;

/** The settings of a channel. Throws 422 for one that its kind has not, lacks, or that the egress guard refuses. */
export function checkedSettings(kind: ChannelKind, given: Readonly<Record<string, unknown>>, policy: EgressPolicy): ChannelSettings {
  const rules = kindRules[kind].settings;
  for (const name of Object.keys(given))
    if (!Object.hasOwn(rules, name)) throw invalid(`/settings/${name}`, 'additionalProperties', `is not a setting of kind ${kind}`);
  for (const [name, { isRequired, form, says }] of Object.entries(rules)) {
    const value = given[name] ?? null;
    if (value === null && isRequired) throw invalid(`/settings/${name}`, 'required', `is required for kind ${kind}`);
    if (value !== null && !hasForm(form, value)) throw invalid(`/settings/${name}`, 'pattern', says);
  }
  const settings: ChannelSettings = given;
  if (settings.smtp) refuseServer(settings.smtp, policy);
  const refusal = settings.outbound_url === undefined ? null : refusalOfUrl(settings.outbound_url, policy);
  if (refusal !== null) throw invalid('/settings/outbound_url', 'egress', refusal);
  return settings;
}

function hasForm(form: SettingRule['form'], value: unknown): boolean {
  return form instanceof RegExp ? typeof value === 'string' && form.test(value) : form(value);
}

type SmtpSettings = NonNullable<ChannelSettings['smtp']>;

function isSmtp(value: unknown): value is SmtpSettings {
  if (typeof value !== 'object' || value === null || Object.keys(value).toSorted().join() !== 'host,port,tls,user') return false;
  const { host, port, tls, user } = value as Readonly<Record<string, unknown>>; // an object, whatever it holds
  const isPort = typeof port === 'number' && Number.isInteger(port) && port > 0 && port < 65_536;
  return (
    typeof host === 'string' && hostName.test(host) && isPort && typeof tls === 'boolean' && typeof user === 'string' && userForm.test(user)
  );
}

const userForm = /^[\x21-\x7e]{1,320}$/;

function refuseServer(smtp: SmtpSettings, policy: EgressPolicy): void {
  const refusal = refusalOfHost(smtp, policy);
  if (refusal !== null) throw invalid('/settings/smtp', 'egress', refusal);
  const plain = smtp.tls ? null : refusalOfPlainMail(smtp, policy);
  if (plain !== null) throw invalid('/settings/smtp/tls', 'egress', plain);
}

/** The secrets of a channel after a change: null removes one. Throws 422 for one that its kind has not, and where one is missing. */
export function changedSecrets(
  kind: ChannelKind,
  before: Readonly<Record<string, string>>,
  change: Readonly<Record<string, string | null>>,
): Record<string, string> {
  const { secrets: names } = kindRules[kind];
  const next: Record<string, string> = { ...before };
  for (const [name, value] of Object.entries(change)) {
    if (!names.includes(name)) throw invalid(`/secrets/${name}`, 'additionalProperties', `is not a secret of kind ${kind}`);
    if (value === null) {
      delete next[name];
      continue;
    }
    if (!secretForm.test(value)) throw invalid(`/secrets/${name}`, 'pattern', 'must be 1 to 1000 printable ASCII characters');
    if ((kind === 'webhook' || name === 'inbound_token') && value.length < minSigningChars)
      throw invalid(`/secrets/${name}`, 'minLength', `must be at least ${minSigningChars} characters`, { limit: minSigningChars });
    next[name] = value;
  }
  for (const name of names) if (next[name] === undefined) throw invalid(`/secrets/${name}`, 'required', `is required for kind ${kind}`);
  return next;
}

/** Whether a sender may talk: a list of ids, and of mail addresses and globs of these, whose case does not count; an empty one lets everybody. */
export function isAllowed(list: readonly string[], senderId: string): boolean {
  return list.some((entry) => entry === senderId || (/[*@]/.test(entry) && isGlobOf(entry, senderId)));
}

/** `*` stands for any characters but an at sign. Walks both once and goes back to the last `*`, so that no pattern costs more than their product. */
function isGlobOf(glob: string, text: string): boolean {
  const [pattern, value] = [glob.toLowerCase(), text.toLowerCase()];
  let [at, mark, star] = [0, 0, -1];
  for (let read = 0; read < value.length;) {
    if (pattern[at] === '*') {
      star = at;
      mark = read;
      at += 1;
    } else if (at < pattern.length && pattern[at] === value[read]) {
      at += 1;
      read += 1;
    } else if (star >= 0 && value[mark] !== '@') {
      at = star + 1;
      mark += 1;
      read = mark;
    } else return false;
  }
  while (pattern[at] === '*') at += 1;
  return at === pattern.length;
}
