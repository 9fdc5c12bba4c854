/** How git shows itself at the host. It stands in the environment of the process alone: arguments and addresses are for everybody on the machine to see. */
export interface GitAuth {
  /** `https://github.com/owner/name.git` */
  readonly url: string;
  readonly token: string;
}

/** Remote of every mirror: objects that are missing come from there. */
export const remoteName = 'origin';
/** Files above it are neither compared nor compressed: they are binary. */
export const bigFileBytes = 16 * 1024 * 1024;

const programs = '/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin';

/** The tree without entries: attributes of a repository's own files never count. */
const emptyTree = '4b825dc642cb6eb9a060e54bf8d69288fbee4904';

/** Settings against what a repository, or a machine, may hold: no hook, no program that a file names, no other protocol, nobody else's settings. */
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
  // The name that a token was made for is the repository's own: where the host leads elsewhere, it has been renamed since.
  ['http.followRedirects', 'false'],
  ['http.lowSpeedLimit', '1'],
  ['http.lowSpeedTime', '60'],
];

/**
 * The whole environment of a git process. Nothing of this process's own goes along; git trusts the authorities of the machine. With `auth` the token goes with
 * requests to its URL and no other; without it no protocol is allowed.
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
