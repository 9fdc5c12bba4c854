import Type from 'typebox';
import { parseKeyRing, type KeyRing } from '../db/key-ring.ts';
import { anchorPathOf } from '../ports/storage/anchor-file.ts';
import { EnvironmentError, httpOrigin, parseEnvironment, parseTogether } from '../ports/config/environment.ts';
import { checkGitHub } from '../ports/github/settings.ts';
import { checkStorage } from '../ports/storage/settings.ts';
import { commonSettings, commonVariables, type CommonSettings } from '../ports/config/process-settings.ts';
import { loadModelRegistry, type ModelEnv } from '../ports/models/models.ts';

const WorkerVariables = Type.Object({
  ...commonVariables,
  PUBLIC_URL: Type.Optional(Type.String({ ...httpOrigin, maxLength: 255 })),
  DATABASE_OWNER_URL: Type.Optional(
    Type.String({ pattern: '^postgres(ql)?://', maxLength: 4_096, description: 'is a postgres:// URL of the role that owns the tables' }),
  ),
  DATABASE_POOL_MAX: Type.Integer({ default: 20, minimum: 2, maximum: 200 }),
  AUDIT_ANCHOR_FILE: Type.Optional(Type.String({ minLength: 1, maxLength: 4_096 })),
  LONGHAUL_STATE_DIR: Type.Optional(Type.String({ minLength: 1, maxLength: 4_096 })),
  WORKER_HEALTH_HOST: Type.String({ default: '127.0.0.1' }),
  WORKER_HEALTH_PORT: Type.Optional(Type.Integer({ minimum: 1, maximum: 65_535 })),
});

/** The configuration of a worker process, parsed once. */
export interface WorkerEnv extends CommonSettings {
  /** Origin of the API, named in mails; empty where there is no mailer. */
  readonly publicUrl: string;
  readonly databasePoolMax: number;
  /** URL of the role that owns the tables, for building vector indexes; null: none is built. */
  readonly databaseOwnerUrl: string | null;
  readonly keys: KeyRing;
  /** The file to which the heads of the audit log are appended. */
  readonly anchorPath: string;
  /** Address that serves probes and scrapes; null: none, so that only the log reports the worker's health. */
  readonly health: { readonly host: string; readonly port: number } | null;
  /** The whole environment, for the model registry, which may name any variable that holds a key. */
  readonly models: ModelEnv;
}

/** Parses the variables of a worker; throws one error that names every bad one. */
export function parseWorkerEnv(source: Readonly<Record<string, string | undefined>>): WorkerEnv {
  const { values, keys } = parseTogether({
    values: () => parseEnvironment(WorkerVariables, source),
    keys: () => parseKeyRing(source),
    // It is loaded again, and logged, once there is a log.
    models: () => loadModelRegistry(source, { info: () => undefined }),
    storage: () => checkStorage(source),
    github: () => checkGitHub(source),
    places: () => checkPlaces(source),
  });

  return Object.freeze({
    ...commonSettings(values),
    publicUrl: values.PUBLIC_URL ?? '',
    databasePoolMax: values.DATABASE_POOL_MAX,
    databaseOwnerUrl: values.DATABASE_OWNER_URL ?? null,
    keys,
    anchorPath: anchorPathOf({ AUDIT_ANCHOR_FILE: values.AUDIT_ANCHOR_FILE, LONGHAUL_STATE_DIR: values.LONGHAUL_STATE_DIR }),
    health: values.WORKER_HEALTH_PORT === undefined ? null : { host: values.WORKER_HEALTH_HOST, port: values.WORKER_HEALTH_PORT },
    models: source,
  });
}

/** Mails name the deployment's address. */
function checkPlaces(source: Readonly<Record<string, string | undefined>>): void {
  if ((source['SMTP_URL'] || source['MAIL_DIR']) && !source['PUBLIC_URL'])
    throw new EnvironmentError(new Map([['PUBLIC_URL', 'missing: mails name it']]));
}

/** The environment of this process. */
export function processEnvironment(): Readonly<Record<string, string | undefined>> {
  return process.env;
}
