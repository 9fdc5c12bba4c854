import { setTimeout as sleep } from 'node:timers/promises';
import { fileFault, SetupError } from '../setup-error.ts';
import { readStateFile, type State } from '../state.ts';
import { type Child, identityOf, sendSignal } from './child.ts';

export interface RosterEntry {
  readonly name: string;
  readonly pid: number;
}

const retryMs = 2_000;

/** The processes that are alive now. Kept in `processes.json`, which external scripts read, from the first start to the last stop. */
export interface Roster {
  readonly entries: readonly RosterEntry[];
  set(name: string, child: Child | null): void;
}

export function createRoster(state: State): Roster {
  const alive = new Map<string, RosterEntry & { identity: string | null }>();
  let retry: NodeJS.Timeout | undefined;

  const save = () => {
    state.write('children.json', [...alive.values()]);
    state.write('processes.json', entries());
  };
  const entries = () => [...alive.values()].map(({ name, pid }) => ({ name, pid }));
  /** A full disk must not end the supervisor: the files are written once there is space again. */
  const saveOrLater = () => {
    clearTimeout(retry);
    try {
      save();
    } catch (error) {
      if (fileFault(error, state.dir) === null) throw error;
      retry = setTimeout(saveOrLater, retryMs).unref();
    }
  };
  save();

  return {
    get entries() {
      return entries();
    },
    set(name, child) {
      if (child === null) alive.delete(name);
      else alive.set(name, { name, pid: child.pid, identity: identityOf(child.pid) });
      saveOrLater();
    },
  };
}

/** Whether the process that holds the folder runs a deployment from it, and not a command that ends by itself. */
export function isDeployed(stateDir: string): boolean {
  const saved = readStateFile(stateDir, 'processes.json');
  return (
    Array.isArray(saved) &&
    saved.some((entry: unknown) => typeof entry === 'object' && entry !== null && Reflect.get(entry, 'name') === 'api')
  );
}

/**
 * Ends the children of an earlier launcher that was killed. Children that the kernel has already signalled get 5 s to write what they
 * have; when this returns, no process holds a data folder or a port. Never touches a process that only reuses a pid.
 */
export async function endLeftovers(state: State): Promise<void> {
  const leftovers = recordedChildren(state.read('children.json'));
  const living = () => leftovers.filter(({ pid, identity }) => identity === identityOf(pid));

  for (const { name, pid } of living()) sendSignal(pid, name === 'postgres' ? 'SIGINT' : 'SIGTERM');

  const deadline = Date.now() + 5000;
  while (living().length > 0 && Date.now() < deadline) await sleep(50);

  for (const { pid } of living()) sendSignal(pid, 'SIGKILL');
  const lastMoment = Date.now() + 5000;
  while (living().length > 0) {
    if (Date.now() > lastMoment)
      throw new SetupError(
        `Processes of an earlier start can't be ended: ${living()
          .map(({ name, pid }) => `${name} (${pid})`)
          .join(', ')}.`,
      );
    await sleep(20);
  }
}

function recordedChildren(value: unknown): { name: string; pid: number; identity: string }[] {
  if (!Array.isArray(value)) return [];

  return value.filter(
    (entry): entry is { name: string; pid: number; identity: string } =>
      typeof entry === 'object' &&
      entry !== null &&
      typeof entry.name === 'string' &&
      Number.isInteger(entry.pid) &&
      entry.pid > 1 &&
      typeof entry.identity === 'string',
  );
}
