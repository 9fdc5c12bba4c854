import { existsSync } from 'node:fs';
import { SetupError } from '../setup-error.ts';
import type { State } from '../state.ts';
import type { ServiceEnv, ServiceName } from './service.ts';

const variables: Readonly<Record<ServiceName, string>> = {
  postgres: 'DATABASE_URL',
  redis: 'REDIS_URL',
  temporal: 'TEMPORAL_ADDRESS',
};

/**
 * Prevents a deployment with its own services from being moved to new, empty ones just because a shell lacks their variables.
 * @throws SetupError that names them.
 */
export function refuseForgotten(state: State, env: ServiceEnv): void {
  if (!existsSync(state.path('deployment.json'))) return;
  const forgotten = Object.entries(variables).filter(([name, variable]) => !env[variable] && !existsSync(state.path(name)));
  if (forgotten.length === 0) return;
  throw new SetupError(
    `The deployment of ${state.dir} uses its own services. Set ${forgotten.map(([, variable]) => variable).join(', ')} to the values with which it was created ` +
      '(`npx longhaul env` prints what its processes use). To create a new deployment instead, set LONGHAUL_STATE_DIR to another folder.',
  );
}
