import { testServices } from '../../test/support/services.ts';
import { startStack, type ProcessName, type Stack, type StackOptions } from '../../test/support/stack.ts';
import { probeVariables } from '../probe/client.ts';

/** Counted as ever, but never reached: a bench asks more than one client may. */
const rateLimits = ['principal', 'workspace', 'anonymous'].map((policy) => `${policy}=100000000/60`).join(',');

/** The product as real processes with the probe in each. */
export function startProduct(processes: readonly ProcessName[], options: Omit<StackOptions, 'processes'> = {}): Promise<Stack> {
  return startStack({ ...options, processes, env: { ...probeVariables, RATE_LIMITS: rateLimits, ...options.env } });
}

export function authorization(stack: Stack): { authorization: string } {
  return { authorization: `Bearer ${stack.tenant.serviceKey.plaintext}` };
}

/** The database of a deployment as its API and as the cluster's administrator. */
export function databaseUrls(stack: Stack): { appUrl: string; adminUrl: string } {
  const appUrl = stack.db.app.config.get('clientUrl') ?? '';
  const adminUrl = new URL(testServices().databaseUrl);
  adminUrl.pathname = new URL(appUrl).pathname;
  return { appUrl, adminUrl: adminUrl.href };
}

/** Starts things one after the other and stops them in the reverse order, whatever happens between. */
export async function using<R>(work: (keep: <T extends { stop(): Promise<void> }>(thing: T) => T) => Promise<R>): Promise<R> {
  const things: { stop(): Promise<void> }[] = [];
  try {
    return await work((thing) => {
      things.push(thing);
      return thing;
    });
  } finally {
    for (const thing of things.toReversed()) await thing.stop();
  }
}
