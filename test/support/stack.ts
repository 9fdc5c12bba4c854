import { openDeployment, withTenant, type Stack, type StackOptions } from './deployment.ts';
import { borrowStack, canBorrow } from './lent-stack.ts';

export { freePort, type ProcessName, type Stack, type StackOptions } from './deployment.ts';

/**
 * A deployment for a test file: the named processes, each serving. Without variables of its own they are lent by the Jest
 * worker, which starts an API process and a runs worker once; the file has a tenant of its own there, and sees what others have left.
 */
export async function startStack(options: StackOptions): Promise<Stack> {
  return canBorrow(options) ? borrowStack(options) : startOwnStack(options);
}

/** A deployment that no other test file has seen or will see. */
export async function startOwnStack(options: StackOptions): Promise<Stack> {
  const deployment = await openDeployment(options);
  try {
    const stack = await withTenant(deployment, options.egressPorts ?? []);
    await Promise.all(options.processes.map((name) => stack.start(name)));
    return stack;
  } catch (error) {
    await deployment.stop(); // the others would outlive the test
    throw error;
  }
}
