import Type, { type Static } from 'typebox';
import type { ChannelUrls } from '../channels/service.ts';
import { gitHubSettings, gitHubVariables, type GitHubSettings, type MirrorSettings } from '../github/settings.ts';
import { telemetrySettings, telemetryVariables, type TelemetrySettings } from '../telemetry/settings.ts';
import { storageSettings, storageVariables, type AttachmentSettings, type StorageSettings } from '../storage/settings.ts';

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

/** ISO 4217 as listed in the engine's data (CLDR). */
const currencies = Intl.supportedValuesOf('currency');

const postgresUrl = { pattern: '^postgres(ql)?://', description: 'postgres://USER:PASSWORD@HOST:5432/DATABASE' };

const serviceUrl = {
  pattern: '^https?://[^\\s?#@]+$',
  maxLength: 1_024,
  description: 'an http or https URL without user, query or fragment',
};

/** Variables that mean the same to the API and to the workers. */
export const commonVariables = {
  LOG_LEVEL: Type.Enum([...logLevels], { default: 'info' }),
  DATABASE_APP_URL: Type.String(postgresUrl),
  DATABASE_SWEEPER_URL: Type.String(postgresUrl),
  REDIS_URL: Type.String({ pattern: '^rediss?://', description: 'redis://USER:PASSWORD@HOST:6379, or rediss://' }),
  REDIS_PREFIX: Type.String({ default: 'lh:', maxLength: 60 }),
  TEMPORAL_ADDRESS: Type.String({ pattern: '^[^\\s/]+:\\d+$', description: 'HOST:PORT' }),
  TEMPORAL_NAMESPACE: Type.String({ default: 'longhaul', maxLength: 200 }),
  TEMPORAL_TLS: Type.Boolean({ default: false }),
  TEMPORAL_API_KEY: Type.Optional(Type.String({ minLength: 1, maxLength: 4_096 })),
  EGRESS_ALLOW_HTTP: Type.Boolean({ default: false }),
  CODE_EXEC: Type.Enum(['on', 'off'], { default: 'on' }),
  UNPRICED_MODEL: Type.Optional(Type.Enum(['reject', 'zero_with_alert'])),
  BILLING_CURRENCY: Type.String({
    default: 'USD',
    pattern: `^(?:${currencies.join('|')})$`,
    description: 'a currency code of ISO 4217: EUR',
  }),
  SMTP_URL: Type.Optional(
    Type.String({ pattern: '^smtps?://[^\\s/?#]+', maxLength: 2_048, description: 'smtps://USER:PASSWORD@HOST, or smtp://' }),
  ),
  MAIL_DIR: Type.Optional(Type.String({ minLength: 1, maxLength: 4_096 })),
  MAIL_FROM: Type.String({
    default: 'Longhaul <longhaul@localhost>',
    pattern: '^[^\\r\\n]*@[^\\s@]+$',
    minLength: 3,
    maxLength: 320,
    description: 'an address, or NAME <ADDRESS>',
  }),
  MCP_OAUTH_REDIRECT_URI: Type.Optional(
    Type.String({ pattern: '^https?://[^\\s#]+$', maxLength: 2_000, description: 'an http or https URL without a fragment' }),
  ),
  MAIL_LINK_URL: Type.Optional(
    Type.String({ pattern: '^https?://[^\\s?#]+$', maxLength: 1_024, description: 'an http or https URL without query or fragment' }),
  ),
  SLACK_API_URL: Type.String({ ...serviceUrl, default: 'https://slack.com/api' }),
  TELEGRAM_API_URL: Type.String({ ...serviceUrl, default: 'https://api.telegram.org' }),
  DISCORD_API_URL: Type.String({ ...serviceUrl, default: 'https://discord.com/api/v10' }),
  ...gitHubVariables,
  ...storageVariables,
  ...telemetryVariables,
};

const CommonVariables = Type.Object(commonVariables);

/** Settings that all processes of a deployment share. */
export interface CommonSettings {
  readonly logLevel: (typeof logLevels)[number];
  readonly databaseAppUrl: string;
  readonly databaseSweeperUrl: string;
  readonly redisUrl: string;
  readonly redisPrefix: string;
  readonly temporal: { readonly address: string; readonly namespace: string; readonly isTls: boolean; readonly apiKey: string | null };
  /** Whether tools may call plain http hosts besides those of an organization's allow-list. */
  readonly allowHttp: boolean;
  /** Whether tools of kind code_exec can be created and run (`CODE_EXEC`). */
  readonly hasCodeExec: boolean;
  readonly billingCurrency: string;
  /** `UNPRICED_MODEL`; null: a model without a price is rejected where an enforced budget applies, otherwise it costs nothing. */
  readonly unpricedModel: 'reject' | 'zero_with_alert' | null;
  /** Page to which authorization servers of MCP toolkits send a person back; null: no consent is possible. */
  readonly mcpRedirectUri: string | null;
  /** Addresses of the chat services of channels. */
  readonly channelUrls: ChannelUrls;
  /** Address of the Git host of code review, and the deployment's own App there. */
  readonly github: GitHubSettings;
  /** Where workers keep mirrors of repositories. */
  readonly mirrors: MirrorSettings;
  /** How mails leave the deployment; null: there is no mailer, and operations that need one are refused. */
  readonly mail: MailSettings | null;
  /** Where the bytes of attachments are stored. */
  readonly storage: StorageSettings;
  readonly attachments: AttachmentSettings;
  readonly telemetry: TelemetrySettings;
}

/** `SMTP_URL` takes precedence over `MAIL_DIR`, where each mail becomes a readable file. */
export type MailSettings = {
  /** Sender of every mail: `Name <address>` or an address. */
  readonly from: string;
  /** Pages that accept the tokens of mails (`MAIL_LINK_URL`); null: mails name the operation of the API. */
  readonly linkUrl: string | null;
} & ({ readonly kind: 'smtp'; readonly url: string } | { readonly kind: 'folder'; readonly folder: string });

/** Returns the common variables, parsed, under the names that code uses. */
export function commonSettings(values: Static<typeof CommonVariables>): CommonSettings {
  return {
    logLevel: values.LOG_LEVEL,
    databaseAppUrl: values.DATABASE_APP_URL,
    databaseSweeperUrl: values.DATABASE_SWEEPER_URL,
    redisUrl: values.REDIS_URL,
    redisPrefix: values.REDIS_PREFIX,
    temporal: {
      address: values.TEMPORAL_ADDRESS,
      namespace: values.TEMPORAL_NAMESPACE,
      isTls: values.TEMPORAL_TLS,
      apiKey: values.TEMPORAL_API_KEY ?? null,
    },
    allowHttp: values.EGRESS_ALLOW_HTTP,
    hasCodeExec: values.CODE_EXEC === 'on',
    billingCurrency: values.BILLING_CURRENCY,
    unpricedModel: values.UNPRICED_MODEL ?? null,
    mcpRedirectUri: values.MCP_OAUTH_REDIRECT_URI ?? null,
    channelUrls: {
      slack: withoutSlash(values.SLACK_API_URL),
      telegram: withoutSlash(values.TELEGRAM_API_URL),
      discord: withoutSlash(values.DISCORD_API_URL),
    },
    mail: mailSettings(values),
    ...gitHubSettings(values),
    ...storageSettings(values),
    telemetry: telemetrySettings(values),
  };
}

function withoutSlash(url: string): string {
  return url.replace(/\/+$/, '');
}

function mailSettings(values: Static<typeof CommonVariables>): MailSettings | null {
  const { SMTP_URL: url, MAIL_DIR: folder } = values;
  const common = { from: values.MAIL_FROM, linkUrl: values.MAIL_LINK_URL?.replace(/\/+$/, '') ?? null };

  if (url !== undefined) return { ...common, kind: 'smtp', url };
  return folder === undefined ? null : { ...common, kind: 'folder', folder };
}
