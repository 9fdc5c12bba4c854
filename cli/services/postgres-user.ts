import { spawnSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { userInfo } from 'node:os';
import { SetupError } from '../setup-error.ts';
import { runs } from './child.ts';

/** How to run PostgreSQL, which refuses to run as root: the prefix of its commands, and the owner that its files need. */
export interface PostgresUser {
  readonly prefix: readonly string[];
  readonly ownerId: number | null;
}

/**
 * An ordinary user runs it directly. For root, and for a user id without an account (initdb needs its name), a user namespace makes
 * the process see itself as another user: files stay ours, and a clone that only we may enter is sufficient. Where namespaces are forbidden
 * (most containers), root runs it as a real other user, who keeps only the right to traverse our folders.
 * @throws SetupError when none of these works.
 */
export function postgresUser(): PostgresUser {
  const isRoot = process.geteuid?.() === 0;
  if (!isRoot && hasAccount()) return { prefix: [], ownerId: null };

  const mapped = accountId();
  const namespace = ['unshare', '-U', `--map-user=${mapped}`, `--map-group=${mapped}`];
  if (works(namespace)) return { prefix: namespace, ownerId: isRoot ? 0 : null };
  if (!isRoot) throw new SetupError('PostgreSQL needs a user with an account (an entry in /etc/passwd). Add one, or set DATABASE_URL.');

  const nobody = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'];
  const mayPass = [...nobody, '--securebits=+no_setuid_fixup', '--inh-caps=+dac_override', '--ambient-caps=+dac_override'];
  const prefix = [mayPass, nobody].find(works);
  if (prefix === undefined)
    throw new SetupError(
      'PostgreSQL refuses to run as root, and neither unshare nor setpriv can change its user here. Run Longhaul as an ordinary user, or set DATABASE_URL.',
    );
  return { prefix, ownerId: 65_534 };
}

/** Changes the owner of the folder to that user if another one filled it (namespaces allowed today, forbidden tomorrow). */
export function giveFolder(folder: string, { ownerId }: PostgresUser): void {
  if (ownerId === null || statSync(folder).uid === ownerId) return;
  if (!runs('chown', '-R', `${ownerId}:${ownerId}`, folder))
    throw new SetupError(`${folder} cannot be assigned to user id ${ownerId}. Set DATABASE_URL instead.`);
}

function works(prefix: readonly string[]): boolean {
  return spawnSync(prefix[0] ?? '', [...prefix.slice(1), 'true'], { stdio: 'ignore' }).status === 0;
}

function hasAccount(): boolean {
  try {
    userInfo();
    return true;
  } catch {
    return false;
  }
}

/** Returns an id that has an account, because initdb needs the name of its user. */
function accountId(): number {
  const ids = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => Number(line.split(':')[2]))
    .filter((id) => Number.isInteger(id) && id > 0);
  return [1000, 65_534].find((id) => ids.includes(id)) ?? ids[0] ?? 1000;
}
