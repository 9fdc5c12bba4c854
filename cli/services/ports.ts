import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { SetupError } from '../setup-error.ts';
import type { State } from '../state.ts';

/**
 * Below the range from which Linux and macOS take the ports of outgoing connections: while a service is down for a second, no
 * client may get its port (on one machine, a client can even connect to itself there).
 */
const servicePorts: PortRange = { from: 20_000, to: 32_000 };

/** Ports from `from` up to, but without, `to`. */
interface PortRange {
  readonly from: number;
  readonly to: number;
}

/**
 * The port on 127.0.0.1 for `name`: the configured one, else the one used last if it is free, else a free one, which is saved.
 * @throws SetupError if the configured one is not a port or is taken.
 */
export async function choosePort(state: State, name: string, configured: string | undefined): Promise<number> {
  if (configured !== undefined && configured !== '') return configuredPort(name, configured);

  const saved = savedPorts(state);
  const last = saved[name];
  if (last !== undefined && (await isPortFree(last))) return last;

  const port = await freePort(new Set(Object.values(saved)));
  state.write('ports.json', { ...savedPorts(state), [name]: port });
  return port;
}

/** The port on 127.0.0.1 that `name` has or will have, for commands that do not start it: it may be running there now. */
export async function plannedPort(state: State, name: string, configured: string | undefined): Promise<number> {
  if (configured !== undefined && configured !== '') return portOf(name, configured);
  return savedPorts(state)[name] ?? choosePort(state, name, undefined);
}

/** True when something could listen on 127.0.0.1 at that port now. */
export function isPortFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}

async function configuredPort(name: string, configured: string): Promise<number> {
  const port = portOf(name, configured);

  if (!(await isPortFree(port))) throw new SetupError(`The port ${port} configured for ${name} is in use.`);
  return port;
}

function portOf(name: string, configured: string): number {
  const port = Number(configured);
  if (!Number.isInteger(port) || port < 1 || port > 65_535)
    throw new SetupError(`The port of ${name} must be 1 to 65535, not "${configured}".`);
  return port;
}

/**
 * Returns a free port on 127.0.0.1 outside the range of outgoing connections, so that it stays free while its listener is down; never one of `taken`.
 * @throws SetupError where there is none.
 */
export async function freePort(taken: ReadonlySet<number>, { from, to } = servicePorts): Promise<number> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const port = randomInt(from, to);
    if (!taken.has(port) && (await isPortFree(port))) return port;
  }
  throw new SetupError(`No free port between ${from} and ${to} on 127.0.0.1.`);
}

function savedPorts(state: State): Record<string, number> {
  const saved = state.read('ports.json');
  if (typeof saved !== 'object' || saved === null) return {};
  return Object.fromEntries(Object.entries(saved).filter((entry): entry is [string, number] => Number.isInteger(entry[1])));
}
