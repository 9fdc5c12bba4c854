import { spawnSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { userInfo } from 'node:os';
import { SetupError } from '../setup-error.ts';
import { runs } from './child.ts';

/** How PostgreSQL, which refuses to be root, is run: what goes before its commands, and to whom its files must belong. */
export interface PostgresUser {
  readonly prefix: readonly string[];
  readonly ownerId: number | null;
}

/**
 * An ordinary user runs it as is. For root, and for a user id without an account (initdb wants its name), a user namespace makes
 * another user of it in its own eyes only: files stay ours, and a clone that only we may enter will do. Where namespaces are forbidden
 * (most containers), root gives it a real other user, who keeps the one right to pass through our folders.
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

/** Gives the folder to that user, when it was filled under another one (namespaces allowed today, forbidden tomorrow). */
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

/** An id that has an account, since initdb asks for the name of its user. */
function accountId(): number {
  const ids = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => Number(line.split(':')[2]))
    .filter((id) => Number.isInteger(id) && id > 0);
  return [1000, 65_534].find((id) => ids.includes(id)) ?? ids[0] ?? 1000;
}
