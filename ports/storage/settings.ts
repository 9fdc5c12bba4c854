import Type, { type Static } from 'typebox';
import { EnvironmentError, httpOrigin, parseEnvironment } from '../config/environment.ts';

const url = 'an http or https URL without user or fragment';

/** Variables for the location and the limits of attachments. */
export const storageVariables = {
  STORAGE_DIR: Type.Optional(Type.String({ minLength: 1, maxLength: 4_096 })),
  STORAGE_S3_BUCKET: Type.Optional(Type.String({ pattern: '^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$', description: 'the name of a bucket' })),
  STORAGE_S3_ENDPOINT: Type.Optional(Type.String({ ...httpOrigin, maxLength: 1_024 })),
  STORAGE_S3_REGION: Type.String({ default: 'us-east-1', pattern: '^[a-z0-9-]+$', maxLength: 64, description: 'the name of a region' }),
  STORAGE_S3_PREFIX: Type.String({
    default: '',
    pattern: '^([A-Za-z0-9._-]+/)*$',
    maxLength: 200,
    description: 'folders that end in a slash (longhaul/files/)',
  }),
  STORAGE_S3_ACCESS_KEY_ID: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
  STORAGE_S3_SECRET_ACCESS_KEY: Type.Optional(Type.String({ minLength: 1, maxLength: 1_024 })),
  ATTACHMENT_MAX_BYTES: Type.Integer({ default: 26_214_400, minimum: 1_024, maximum: 536_870_912 }),
  ATTACHMENT_SCAN_URL: Type.Optional(Type.String({ pattern: '^https?://[^\\s#@]+$', maxLength: 2_048, description: url })),
  ATTACHMENT_SCAN_TOKEN: Type.Optional(Type.String({ minLength: 1, maxLength: 4_096 })),
};

const StorageVariables = Type.Object(storageVariables);

export interface S3Settings {
  readonly kind: 's3';
  readonly bucket: string;
  readonly region: string;
  /** Precedes every key; ends in a slash or is empty. */
  readonly prefix: string;
  /** A server other than Amazon's; buckets are then named in the path. */
  readonly endpoint: string | null;
  /** Null: the credentials of the machine's role. */
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string } | null;
}

export type StorageSettings = { readonly kind: 'folder'; readonly folder: string } | S3Settings;

export interface AttachmentSettings {
  readonly maxBytes: number;
  /** The scanner that checks each upload before it can be used; null: uploads can be used at once. */
  readonly scan: { readonly url: string; readonly token: string | null } | null;
}

/**
 * A bucket takes precedence over a folder.
 * @throws EnvironmentError when neither is configured, or only half of a key pair.
 */
export function storageSettings(values: Static<typeof StorageVariables>): {
  readonly storage: StorageSettings;
  readonly attachments: AttachmentSettings;
} {
  const { ATTACHMENT_SCAN_URL: url, ATTACHMENT_SCAN_TOKEN: token } = values;
  return {
    storage: Object.freeze(storageOf(values)),
    attachments: Object.freeze({
      maxBytes: values.ATTACHMENT_MAX_BYTES,
      scan: url === undefined ? null : { url, token: token ?? null },
    }),
  };
}

/** Throws the errors of `storageSettings` for an environment whose other variables may be bad as well, so that all are reported at once. */
export function checkStorage(source: Readonly<Record<string, string | undefined>>): void {
  storageSettings(parseEnvironment(StorageVariables, source));
}

function storageOf(values: Static<typeof StorageVariables>): StorageSettings {
  const { STORAGE_DIR: folder, STORAGE_S3_BUCKET: bucket } = values;
  if (bucket === undefined) {
    if (folder !== undefined) return { kind: 'folder', folder };
    throw new EnvironmentError(new Map([['STORAGE_DIR', 'missing: a folder for attachments, unless STORAGE_S3_BUCKET names a bucket']]));
  }
  return {
    kind: 's3',
    bucket,
    region: values.STORAGE_S3_REGION,
    prefix: values.STORAGE_S3_PREFIX,
    endpoint: values.STORAGE_S3_ENDPOINT ?? null,
    credentials: credentialsOf(values),
  };
}

function credentialsOf(values: Static<typeof StorageVariables>): S3Settings['credentials'] {
  const { STORAGE_S3_ACCESS_KEY_ID: accessKeyId, STORAGE_S3_SECRET_ACCESS_KEY: secretAccessKey } = values;
  if (accessKeyId !== undefined && secretAccessKey !== undefined) return { accessKeyId, secretAccessKey };
  if (accessKeyId === undefined && secretAccessKey === undefined) return null;
  const missing = accessKeyId === undefined ? 'STORAGE_S3_ACCESS_KEY_ID' : 'STORAGE_S3_SECRET_ACCESS_KEY';
  throw new EnvironmentError(new Map([[missing, 'missing: the bucket needs both keys']]));
}
