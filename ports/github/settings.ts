import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Type, { type Static } from 'typebox';
import { EnvironmentError, parseEnvironment } from '../config/environment.ts';
import { isAppKey, pemOf, type AppCredentials } from './app-key.ts';

const hostUrl = { pattern: '^https?://[^\\s?#@]+$', maxLength: 1_024, description: 'an http or https URL without user, query or fragment' };

/** Variables for the address of the Git host, the deployment's App there, and the location of mirrors. */
export const gitHubVariables = {
  GITHUB_API_URL: Type.String({ ...hostUrl, default: 'https://api.github.com' }),
  GITHUB_GIT_URL: Type.String({ ...hostUrl, default: 'https://github.com' }),
  GITHUB_APP_ID: Type.Optional(Type.String({ pattern: '^[1-9]\\d{0,18}$', description: 'the number of a GitHub App' })),
  GITHUB_APP_PRIVATE_KEY: Type.Optional(Type.String({ minLength: 1, maxLength: 16_384 })),
  GITHUB_APP_HOOK: Type.Optional(
    Type.String({
      pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/[a-z0-9][a-z0-9-]{0,119}$',
      description: 'WORKSPACE_ID/SLUG of the webhook endpoint that the App posts to',
    }),
  ),
  REVIEW_MIRROR_DIR: Type.Optional(Type.String({ minLength: 1, maxLength: 4_096 })),
  REVIEW_MIRROR_MAX_GB: Type.Integer({ default: 20, minimum: 1, maximum: 10_000 }),
};

const GitHubVariables = Type.Object(gitHubVariables);

/** The address of the Git host, without a trailing slash, and the deployment's own App there. */
export interface GitHubSettings {
  readonly apiUrl: string;
  readonly gitUrl: string;
  /** Null: only workspaces with Apps of their own have code review. */
  readonly app: AppCredentials | null;
  /** The endpoint that the deployment's App posts to: `<workspace_id>/<slug>`. */
  readonly hook: string | null;
}

/** A cache of repositories on the disk of a worker. */
export interface MirrorSettings {
  readonly folder: string;
  readonly maxBytes: number;
}

/**
 * Returns the settings for the Git host and for mirrors.
 * @throws EnvironmentError when only half of an App is configured, or its key is not an RSA key.
 */
export function gitHubSettings(values: Static<typeof GitHubVariables>): {
  readonly github: GitHubSettings;
  readonly mirrors: MirrorSettings;
} {
  return {
    github: Object.freeze({
      apiUrl: values.GITHUB_API_URL.replace(/\/+$/, ''),
      gitUrl: values.GITHUB_GIT_URL.replace(/\/+$/, ''),
      app: appOf(values),
      hook: values.GITHUB_APP_HOOK ?? null,
    }),
    mirrors: Object.freeze({
      folder: values.REVIEW_MIRROR_DIR ?? join(tmpdir(), 'longhaul-review-mirrors'),
      maxBytes: values.REVIEW_MIRROR_MAX_GB * 1024 ** 3,
    }),
  };
}

/** Throws the errors of `gitHubSettings` for an environment whose other variables may be bad as well, so that all are reported at once. */
export function checkGitHub(source: Readonly<Record<string, string | undefined>>): void {
  gitHubSettings(parseEnvironment(GitHubVariables, source));
}

function appOf({ GITHUB_APP_ID: appId, GITHUB_APP_PRIVATE_KEY: key, GITHUB_APP_HOOK: hook }: Static<typeof GitHubVariables>) {
  const faults = new Map<string, string>();
  if (appId === undefined && (key !== undefined || hook !== undefined))
    faults.set('GITHUB_APP_ID', 'missing: an App needs both its id and its private key');
  if (key === undefined && appId !== undefined)
    faults.set('GITHUB_APP_PRIVATE_KEY', 'missing: an App needs both its id and its private key');
  if (key !== undefined && !isAppKey(key)) faults.set('GITHUB_APP_PRIVATE_KEY', 'must be a private RSA key in PEM');
  if (faults.size > 0) throw new EnvironmentError(faults);
  return appId === undefined || key === undefined ? null : Object.freeze({ appId, privateKey: pemOf(key) });
}
