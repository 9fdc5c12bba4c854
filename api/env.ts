import Type from 'typebox';
import { EnvironmentError, httpOrigin, parseEnvironment, parseTogether } from '../ports/config/environment.ts';
import { packageVersion } from '../ports/config/package-version.ts';
import { commonSettings, commonVariables, type CommonSettings } from '../ports/config/process-settings.ts';
import { checkGitHub } from '../ports/github/settings.ts';
import { checkStorage } from '../ports/storage/settings.ts';
import { trustedProxies } from './http/credentials/client-address.ts';
import { limitPolicies, type LimitPolicy, type Quota } from './http/operation/quotas.ts';

const ApiVariables = Type.Object({
  ...commonVariables,
  PUBLIC_URL: Type.String({ ...httpOrigin, maxLength: 255 }),
  HOST: Type.String({ default: '127.0.0.1' }),
  PORT: Type.Integer({ default: 3000, minimum: 0, maximum: 65_535 }),
  DATABASE_POOL_MAX: Type.Integer({ default: 10, minimum: 1, maximum: 200 }),
  METRICS_TOKEN: Type.Optional(Type.String({ minLength: 16, maxLength: 256 })),
  TRUSTED_PROXIES: Type.Array(Type.String({ pattern: '^[0-9a-fA-F.:]+(/\\d{1,3})?$' }), {
    default: [],
    maxItems: 100,
    description: 'at most 100 addresses or ranges of addresses (CIDR), comma-separated',
  }),
  CORS_ORIGINS: Type.Array(Type.String(httpOrigin), {
    default: [],
    maxItems: 100,
    description: 'at most 100 origins (https://HOST), comma-separated',
  }),
  RATE_LIMITS: Type.Array(Type.String({ pattern: '^[a-z_]+=(off|[1-9]\\d{0,8}/[1-9]\\d{0,5})$' }), {
    default: [],
    maxItems: 40,
    description: 'POLICY=REQUESTS/SECONDS or POLICY=off, at most 40 of them, comma-separated',
  }),
  OAUTH_DYNAMIC_REGISTRATION: Type.Boolean({ default: false }),
  OAUTH_CLIENT_DOCUMENTS: Type.Boolean({ default: true }),
  OAUTH_CONSENT_URL: Type.Optional(
    Type.String({ pattern: '^https?://[^#@\\s]+$', maxLength: 1_000, description: 'an http or https URL without user or fragment' }),
  ),
  MAIL_DNS_SERVERS: Type.Array(Type.String({ pattern: '^(?:[0-9.]{7,15}|\\[[0-9a-fA-F:.]{2,45}\\])(?::\\d{1,5})?$' }), {
    default: [],
    maxItems: 10,
    description: 'at most 10 addresses of name servers, ADDRESS or ADDRESS:PORT, comma-separated',
  }),
  CONSOLE: Type.Enum(['on', 'off'], { default: 'on' }),
  CONSOLE_DIR: Type.Optional(Type.String({ minLength: 1, maxLength: 4_096 })),
  DRAIN_SECONDS: Type.Integer({ default: 5, minimum: 0, maximum: 8 }),
  STREAMS_PER_PRINCIPAL: Type.Integer({ default: 50, minimum: 1, maximum: 100_000 }),
  STREAMS_PER_PROCESS: Type.Integer({ default: 10_000, minimum: 1, maximum: 1_000_000 }),
  BUILD_COMMIT: Type.Optional(Type.String({ maxLength: 64 })),
  BUILD_TIME: Type.Optional(Type.String({ format: 'date-time' })),
});

/** What the API process was told, parsed once. */
export interface ApiEnv extends CommonSettings {
  /** Origin under which clients reach the deployment; never taken from the Host header. */
  readonly publicUrl: string;
  readonly host: string;
  readonly port: number;
  readonly databasePoolMax: number;
  readonly metricsToken: string | null;
  readonly trustedProxies: readonly string[];
  readonly corsOrigins: readonly string[];
  /** Deviations from the default quotas; null switches a policy off. */
  readonly quotas: Readonly<Partial<Record<LimitPolicy, Quota | null>>>;
  /** Name servers that are asked for the keys of signed mails; none: those of the system. */
  readonly mailDnsServers: readonly string[];
  /** Folder of the built console, or of several builds; null: none is served. */
  readonly consoleDir: string | null;
  /** How long the listener stays open after SIGTERM, so that probes see 503 first. */
  readonly drainSeconds: number;
  /** Most open streams of one principal, and of the process. */
  readonly streams: { readonly perPrincipal: number; readonly perProcess: number };
  readonly oauth: {
    /** Whether any client may register itself (RFC 7591). */
    readonly dynamicRegistration: boolean;
    /** Whether a client may name itself by the URL of its metadata document. */
    readonly clientDocuments: boolean;
    /** Page of the deployment that asks for consent in place of the built-in one. */
    readonly consentUrl: string | null;
  };
  readonly build: { readonly version: string; readonly commit: string | null; readonly builtAt: string | null };
}

/** Parses the variables of the API; throws one EnvironmentError that names every bad one. */
export function parseApiEnv(source: Readonly<Record<string, string | undefined>>): ApiEnv {
  const { values, quotas } = parseTogether({
    values: () => parseEnvironment(ApiVariables, source),
    storage: () => checkStorage(source),
    github: () => checkGitHub(source),
    quotas: () => parseQuotas(source['RATE_LIMITS'] ?? ''),
    proxies: () => checkProxies(source['TRUSTED_PROXIES'] ?? ''),
  });

  return Object.freeze({
    ...commonSettings(values),
    publicUrl: values.PUBLIC_URL,
    host: values.HOST,
    port: values.PORT,
    databasePoolMax: values.DATABASE_POOL_MAX,
    metricsToken: values.METRICS_TOKEN ?? null,
    trustedProxies: values.TRUSTED_PROXIES,
    corsOrigins: values.CORS_ORIGINS,
    quotas,
    mailDnsServers: values.MAIL_DNS_SERVERS,
    consoleDir: values.CONSOLE === 'on' ? (values.CONSOLE_DIR ?? null) : null,
    drainSeconds: values.DRAIN_SECONDS,
    streams: { perPrincipal: values.STREAMS_PER_PRINCIPAL, perProcess: values.STREAMS_PER_PROCESS },
    oauth: {
      dynamicRegistration: values.OAUTH_DYNAMIC_REGISTRATION,
      clientDocuments: values.OAUTH_CLIENT_DOCUMENTS,
      consentUrl: values.OAUTH_CONSENT_URL ?? null,
    },
    build: { version: packageVersion(), commit: values.BUILD_COMMIT ?? null, builtAt: toTimestamp(values.BUILD_TIME) },
  });
}

/** The environment of this process, for the parsers that read their own part of it. */
export function processEnvironment(): Readonly<Record<string, string | undefined>> {
  return process.env;
}

function parseQuotas(text: string): ApiEnv['quotas'] {
  const quotas: Partial<Record<LimitPolicy, Quota | null>> = {};

  for (const entry of text.split(',').filter((part) => part.trim() !== '')) {
    const [name = '', rule = ''] = entry.trim().split('=');
    const policy = limitPolicies.find((candidate) => candidate === name);
    if (!policy) throw new EnvironmentError(new Map([['RATE_LIMITS', `does not name a policy: "${name}"`]]));

    if (rule === 'off') {
      if (policy.startsWith('login_')) throw new EnvironmentError(new Map([['RATE_LIMITS', 'login policies cannot be turned off']]));
      quotas[policy] = null;
      continue;
    }
    const [quota, windowS] = rule.split('/').map(Number);
    quotas[policy] = { quota: quota ?? 1, windowS: windowS ?? 1 };
  }
  return Object.freeze(quotas);
}

function checkProxies(text: string): void {
  try {
    trustedProxies(text.split(',').flatMap((part) => part.trim() || []));
  } catch {
    throw new EnvironmentError(new Map([['TRUSTED_PROXIES', 'must be addresses and ranges of addresses (CIDR)']]));
  }
}

function toTimestamp(value: string | undefined): string | null {
  return value === undefined ? null : new Date(value).toISOString();
}
