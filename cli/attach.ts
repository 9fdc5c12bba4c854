import { keyVariables } from '../db/key-ring.ts';
import { withDatabases, type Attached } from './databases.ts';
import { deploymentFile, prepareDeployment } from './deployment.ts';
import { stateDirOf, type CliEnv } from './env.ts';
import { refuseForeignDatabase } from './foreign-database.ts';
import { checkReachable } from './check-services.ts';
import { findRunningServices, startServices } from './services/index.ts';
import { checkSettings } from './settings.ts';
import { readStateFile } from './state.ts';

/**
 * Does work on the deployment's database, whether or not it is running: the database that roles and keys in the environment name; else that of a
 * Longhaul that runs from the state folder; else it starts the services and stops them afterwards. Throws SetupError if a Longhaul is running and
 * DATABASE_URL names another database.
 */
export async function withDeployment<R>(
  { env, log }: { readonly env: CliEnv; readonly log: (line: string) => void },
  work: (attached: Attached) => Promise<R>,
): Promise<R> {
  checkSettings(env);
  if (!isComplete(env)) refuseForeignDatabase(stateDirOf(env), env);
  const known = isComplete(env) ? env : runningVariables(stateDirOf(env));
  if (known) return withDatabases(known, work);

  await checkReachable(env, ['DATABASE_URL']);
  const services = await startServices({ stateDir: stateDirOf(env), env, log });
  try {
    const { variables } = await prepareDeployment(services, env);
    return await withDatabases(variables, work);
  } finally {
    await services.stop();
  }
}

function isComplete(env: CliEnv): boolean {
  return ['DATABASE_APP_URL', 'DATABASE_SWEEPER_URL', ...Object.values(keyVariables)].every((name) => Boolean(env[name]));
}

function runningVariables(stateDir: string): CliEnv | null {
  if (!findRunningServices(stateDir)) return null;
  const saved = readStateFile(stateDir, deploymentFile);
  if (typeof saved !== 'object' || saved === null) return null;

  const variables = Object.entries(saved).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  return Object.fromEntries(variables);
}
