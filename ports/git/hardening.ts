/** How git authenticates at the host. It is only in the environment of the process: arguments and addresses are visible to every user of the machine. */
export interface GitAuth {
  /** `https://github.com/owner/name.git` */
  readonly url: string;
  readonly token: string;
}

/** Remote of every mirror: missing objects are fetched from there. */
export const remoteName = 'origin';
/** Larger files are neither compared nor compressed: they count as binary. */
export const bigFileBytes = 16 * 1024 * 1024;

const programs = '/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin';

/** The tree without entries, so that attributes from a repository's own files never apply. */
const emptyTree = '4b825dc642cb6eb9a060e54bf8d69288fbee4904';

/** Settings against what a repository, or a machine, may contain: no hook, no program that a file names, no other protocol, no settings of other users. */
const settings: readonly (readonly [string, string])[] = [
  ['core.hooksPath', '/dev/null'],
  ['core.fsmonitor', 'false'],
  ['core.attributesFile', '/dev/null'],
  ['core.excludesFile', '/dev/null'],
  ['core.symlinks', 'false'],
  ['core.askPass', ''],
  ['core.sshCommand', 'false'],
  ['core.pager', 'cat'],
  ['core.alternateRefsCommand', 'false'],
  ['core.quotePath', 'true'],
  ['core.bigFileThreshold', String(bigFileBytes)],
  ['core.packedGitLimit', '256m'],
  ['core.deltaBaseCacheLimit', '64m'],
  ['core.commitGraph', 'true'],
  ['attr.tree', emptyTree],
  ['credential.helper', ''],
  ['credential.interactive', 'never'],
  ['protocol.version', '2'],
  ['protocol.allow', 'never'],
  ['submodule.recurse', 'false'],
  ['fetch.recurseSubmodules', 'false'],
  ['fetch.unpackLimit', '1'],
  ['fetch.writeCommitGraph', 'false'],
  ['transfer.bundleURI', 'false'],
  ['pack.threads', '1'],
  ['index.threads', '1'],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  ['diff.noprefix', 'false'],
  ['diff.mnemonicPrefix', 'false'],
  ['diff.external', ''],
  ['diff.renameLimit', '1000'],
  ['diff.ignoreSubmodules', 'none'],
  ['diff.submodule', 'short'],
  ['safe.directory', '*'],
  // A token belongs to the repository's current name: when the host redirects, it has been renamed since.
  ['http.followRedirects', 'false'],
  ['http.lowSpeedLimit', '1'],
  ['http.lowSpeedTime', '60'],
];

/**
 * Returns the whole environment of a git process. It inherits nothing from this process; git trusts the machine's certificate authorities. With `auth` the
 * token is sent with requests to its URL and no other; without it no protocol is allowed.
 */
export function hardenedEnvironment(folder: string, auth: GitAuth | null): Record<string, string> {
  const all = [...settings, ...(auth === null ? [] : authSettings(auth))];
  const counted = all.flatMap(([key, value], at) => [
    [`GIT_CONFIG_KEY_${at}`, key],
    [`GIT_CONFIG_VALUE_${at}`, value],
  ]);
  return {
    PATH: programs,
    HOME: folder,
    LC_ALL: 'C',
    GIT_DIR: folder,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: 'false',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_LITERAL_PATHSPECS: '1',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_ADVICE: '0',
    GIT_ALLOW_PROTOCOL: auth === null ? '' : protocolOf(auth),
    ...(auth === null ? { GIT_NO_LAZY_FETCH: '1' } : {}),
    GIT_CONFIG_COUNT: String(all.length),
    ...Object.fromEntries(counted),
  };
}

function authSettings({ url, token }: GitAuth): readonly (readonly [string, string])[] {
  const { origin } = new URL(url);
  const basic = Buffer.from(`x-access-token:${token}`).toString('base64');
  return [
    [`protocol.${protocolOf({ url })}.allow`, 'always'],
    [`remote.${remoteName}.url`, url],
    [`http.${origin}/.extraHeader`, `Authorization: Basic ${basic}`],
  ];
}

function protocolOf({ url }: Pick<GitAuth, 'url'>): string {
  return new URL(url).protocol.slice(0, -1);
}
