import { resolve } from 'node:path';
import { pino } from 'pino';
import { keyVariables, parseKeyRing } from '../db/key-ring.ts';
import { refuseOtherKeks } from '../db/tenancy/keys/deployment-fit.ts';
import { OtherKeksError, refuseOtherKeksOf } from '../db/envelope.ts';
import type { CliEnv } from './env.ts';
import { withDatabases } from './databases.ts';
import { canMakeRoles, migrate, migrateAsOwner, type MigrationReport } from './migrate.ts';
import { SetupError } from './setup-error.ts';
import { readStateFile } from './state.ts';
import type { Services } from './services/index.ts';
import { modelFiles } from './services/model-files.ts';
import { choosePort, plannedPort } from './services/ports.ts';

/** The environment of the API and the workers on this machine: addresses, database roles, keys, and the caller's own settings. */
export interface Deployment {
  readonly publicUrl: string;
  /** Where the deployment's own processes reach the API, if not there (`API_INTERNAL_URL`). */
  readonly internalUrl: string | null;
  readonly port: number;
  readonly healthPorts: Readonly<Record<'worker-runs' | 'worker-bulk', number>>;
  readonly variables: Readonly<Record<string, string>>;
  /** The folder to which mails are written as files; null: sent by SMTP. */
  readonly mailDir: string | null;
  readonly migration: MigrationReport;
}

export interface PrepareOptions {
  /** Existing database roles get the passwords given here, see `migrate`. */
  readonly resetsRoles?: boolean;
  /** Whether the processes will be started here, so that their ports must be free; otherwise they may be running. */
  readonly startsProcesses?: boolean;
  /** If given, the embedding model is installed if it is used, and this is logged. */
  readonly log?: (line: string) => void;
}

/** The variables of the processes, in the state folder (0600), for commands beside a running deployment. */
export const deploymentFile = 'deployment.json';

/** Settings of the caller that processes get unchanged. */
const handedOn = [
  'PATH',
  'HOME',
  'TZ',
  'NODE_EXTRA_CA_CERTS',
  'LOG_LEVEL',
  'TRUSTED_PROXIES',
  'CORS_ORIGINS',
  'OAUTH_DYNAMIC_REGISTRATION',
  'OAUTH_CLIENT_DOCUMENTS',
  'OAUTH_CONSENT_URL',
  'CONSOLE',
  'EGRESS_ALLOW_HTTP',
  'CODE_EXEC',
  'RATE_LIMITS',
  'DATABASE_POOL_MAX',
  'BILLING_CURRENCY',
  'UNPRICED_MODEL',
  'SMTP_URL',
  'MAIL_FROM',
  'MAIL_LINK_URL',
  'STORAGE_S3_BUCKET',
  'STORAGE_S3_ENDPOINT',
  'STORAGE_S3_REGION',
  'STORAGE_S3_PREFIX',
  'STORAGE_S3_ACCESS_KEY_ID',
  'STORAGE_S3_SECRET_ACCESS_KEY',
  'ATTACHMENT_MAX_BYTES',
  'ATTACHMENT_SCAN_URL',
  'ATTACHMENT_SCAN_TOKEN',
  'MCP_OAUTH_REDIRECT_URI',
  'SLACK_API_URL',
  'TELEGRAM_API_URL',
  'DISCORD_API_URL',
  'MAIL_DNS_SERVERS',
  'GITHUB_API_URL',
  'GITHUB_GIT_URL',
  'GITHUB_APP_ID',
  'GITHUB_APP_PRIVATE_KEY',
  'GITHUB_APP_HOOK',
  'REVIEW_MIRROR_MAX_GB',
  'STREAMS_PER_PRINCIPAL',
  'STREAMS_PER_PROCESS',
  'DRAIN_SECONDS',
  'TEMPORAL_TLS',
  'TEMPORAL_API_KEY',
  'OPENAI_API_KEY',
  'ANTHROPIC_API_KEY',
  'LONGHAUL_MODEL_BASE_URL',
  'LONGHAUL_MODEL_API_KEY',
  'LONGHAUL_MODEL',
  'LONGHAUL_MODEL_REGISTRY',
  'EMBEDDING_MODEL',
  'BUILD_COMMIT',
  'BUILD_TIME',
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
  'OTEL_EXPORTER_OTLP_HEADERS',
  'OTEL_RESOURCE_ATTRIBUTES',
  'OTEL_SERVICE_NAME',
  'OTEL_TRACES_SAMPLER',
  'OTEL_TRACES_SAMPLER_ARG',
  'OTEL_SDK_DISABLED',
  'OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT',
] as const;

const quiet = pino({ level: 'warn' });

/**
 * Migrates the database, creates the keys once and chooses ports. Returns what the processes need.
 * @throws SetupError if the database belongs to a deployment with other role passwords or other keys.
 */
export async function prepareDeployment(
  services: Services,
  env: CliEnv,
  { resetsRoles = false, startsProcesses = false, log }: PrepareOptions = {},
): Promise<Deployment> {
  const { state } = services;
  const keys = keysOf(services, env);
  const { urls, migration } = await toldAsSetup(() => migratedDatabase(services, env, { resetsRoles, keys }));
  const portOf = startsProcesses ? choosePort : plannedPort;
  const port = await portOf(state, 'api', env['PORT']);
  const publicUrl = env['PUBLIC_URL'] ?? `http://127.0.0.1:${port}`;
  const healthPorts = {
    'worker-runs': await portOf(state, 'worker-runs', undefined),
    'worker-bulk': await portOf(state, 'worker-bulk', undefined),
  };
  const variables: Record<string, string> = {
    ...urls,
    ...keys,
    REDIS_URL: services.redisUrl,
    REDIS_PREFIX: env['REDIS_PREFIX'] ?? `lh:${state.secret('deployment', 6)}:`,
    TEMPORAL_ADDRESS: services.temporalAddress,
    TEMPORAL_NAMESPACE: services.temporalNamespace,
    HOST: env['HOST'] ?? '127.0.0.1',
    PORT: String(port),
    PUBLIC_URL: publicUrl,
    METRICS_TOKEN: env['METRICS_TOKEN'] ?? state.secret('metrics_token'),
  };
  for (const name of modelKeysAnd(handedOn, env)) if (env[name] !== undefined) variables[name] = env[name];
  const appKey = variables['GITHUB_APP_PRIVATE_KEY'];
  // Environment files have one line per variable.
  if (appKey !== undefined) variables['GITHUB_APP_PRIVATE_KEY'] = appKey.trim().replaceAll('\n', '\\n');
  const mailDir = variables['SMTP_URL'] ? null : resolve(env['MAIL_DIR'] || state.path('mails'));
  if (mailDir !== null) variables['MAIL_DIR'] = mailDir;
  if (!variables['STORAGE_S3_BUCKET']) variables['STORAGE_DIR'] = resolve(env['STORAGE_DIR'] || state.path('attachments'));
  variables['REVIEW_MIRROR_DIR'] = resolve(env['REVIEW_MIRROR_DIR'] || state.path('review-mirrors'));
  // The console has the pages that the links of mails lead to, and the one on which people let applications in.
  if (env['CONSOLE'] !== 'off') {
    variables['MAIL_LINK_URL'] ??= `${publicUrl}/console`;
    variables['OAUTH_CONSENT_URL'] ??= `${publicUrl}/console/consent`;
  }
  variables['CONSOLE_DIR'] = resolve(env['CONSOLE_DIR'] || state.path('console'));
  variables['AUDIT_ANCHOR_FILE'] = resolve(env['AUDIT_ANCHOR_FILE'] || state.path('audit-anchors.jsonl'));
  const modelDir = await modelFiles({ wheelsDir: state.path('wheels'), env, log });
  if (modelDir !== null) variables['EMBEDDING_MODEL_DIR'] = resolve(modelDir);
  await refuseOtherKeys(variables);
  state.write(deploymentFile, variables);
  return { publicUrl, internalUrl: env['API_INTERNAL_URL'] || null, port, healthPorts, variables, mailDir, migration };
}

/** Variables of the machine that ran the command, not of the deployment. */
const ofMachine: ReadonlySet<string> = new Set(['PATH', 'HOME', 'TZ']);

/**
 * `deployment.json` as an environment file: the variables that all processes of the deployment need, as `node --env-file`, systemd and Docker read them.
 * @throws SetupError if the folder contains none.
 */
export function environmentLines(stateDir: string): string[] {
  const saved = readStateFile(stateDir, deploymentFile);
  if (typeof saved !== 'object' || saved === null)
    throw new SetupError(`${stateDir} holds no ${deploymentFile}: run \`npx longhaul migrate\` first, or set LONGHAUL_STATE_DIR.`);
  return Object.entries(saved).flatMap(([name, value]) => (ofMachine.has(name) ? [] : [`${name}=${String(value)}`]));
}

/** The deployment keys by variable: the caller's own, else those of the state folder, which are created once. */
function keysOf({ state }: Services, env: CliEnv): Record<string, string> {
  const made = (variable: string) => `k1:${state.secret(variable.toLowerCase(), 32)}`;
  return Object.fromEntries(Object.values(keyVariables).map((variable) => [variable, env[variable] ?? made(variable)]));
}

/** Newly created keys could decrypt none of the secrets in an existing database, and its processes would fail at their next start. */
async function refuseOtherKeys(variables: CliEnv): Promise<void> {
  await toldAsSetup(() => withDatabases(variables, ({ db, keys }) => refuseOtherKeks(db, keys)));
}

async function toldAsSetup<R>(work: () => Promise<R>): Promise<R> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof OtherKeksError)) throw error;
    throw new SetupError(
      `${error.message} Run this with the state folder of the deployment that made the database (LONGHAUL_STATE_DIR), or set ${keyVariables.keks} and the other keys to its own.`,
    );
  }
}

/** A custom model registry may read its keys from other variables: returns any variable that looks like one. */
function modelKeysAnd(names: readonly string[], env: CliEnv): string[] {
  const named = env['LONGHAUL_MODEL_REGISTRY'] === undefined ? [] : Object.keys(env).filter((name) => name.endsWith('_API_KEY'));
  return [...names, ...named];
}

/** Returns the roles' URLs: those that are set explicitly, else URLs with our own passwords. Migrates the database in either case. */
async function migratedDatabase(
  services: Services,
  env: CliEnv,
  { resetsRoles, keys }: { readonly resetsRoles: boolean; readonly keys: Readonly<Record<string, string>> },
): Promise<{ urls: Record<string, string>; migration: MigrationReport }> {
  const { DATABASE_APP_URL: appUrl, DATABASE_SWEEPER_URL: sweeperUrl, DATABASE_OWNER_URL: ownerUrl } = env;
  const { state, databaseUrl } = services;
  const passwordOf = (url: string | undefined, secret: string) =>
    url === undefined ? state.secret(secret) : decodeURIComponent(new URL(url).password);

  if (appUrl !== undefined && sweeperUrl !== undefined && ownerUrl !== undefined && !(await canMakeRoles(databaseUrl))) {
    const migration = await migrateAsOwner({ ownerUrl, log: quiet });
    return { urls: { DATABASE_APP_URL: appUrl, DATABASE_SWEEPER_URL: sweeperUrl, DATABASE_OWNER_URL: ownerUrl }, migration };
  }
  const migrated = await migrate({
    databaseUrl,
    passwords: {
      longhaul_owner: passwordOf(ownerUrl, 'database_owner'),
      longhaul_app: passwordOf(appUrl, 'database_app'),
      longhaul_sweeper: passwordOf(sweeperUrl, 'database_sweeper'),
    },
    resetsRoles,
    // Before any password is changed, so that a refusal locks no one out.
    beforeReset: (dataKeys) => refuseOtherKeksOf(dataKeys, parseKeyRing(keys)),
    log: quiet,
  });
  return {
    urls: {
      DATABASE_APP_URL: appUrl ?? migrated.appUrl,
      DATABASE_SWEEPER_URL: sweeperUrl ?? migrated.sweeperUrl,
      DATABASE_OWNER_URL: ownerUrl ?? migrated.ownerUrl,
    },
    migration: migrated,
  };
}
