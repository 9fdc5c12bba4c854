import { pino } from 'pino';
import { loadModelRegistry } from '../ports/models/models.ts';
import { newServiceKeyPlaintext } from '../db/identity/keys/service-key-format.ts';
import { bootstrap, type BootstrapAccess, type Bootstrapped } from './bootstrap.ts';
import { withDatabases } from './databases.ts';
import type { Deployment } from './deployment.ts';
import type { State } from './state.ts';

const accessFile = 'access.json';
const quiet = pino({ level: 'warn' });

/**
 * Creates the first operator, organization, owner, key and agent if they are missing, and keeps `access.json` up to date. `resets`: a user or key
 * that already exists gets new secrets.
 * @throws SetupError when they exist and this state folder does not know their secrets.
 */
export async function ensureAccess(
  state: State,
  deployment: Deployment,
  { resets = false }: { readonly resets?: boolean } = {},
): Promise<Bootstrapped & { modelId: string }> {
  const { variables, publicUrl, internalUrl } = deployment;
  const models = loadModelRegistry(variables, quiet);

  return withDatabases(variables, async (attached) => {
    const made = await bootstrap(attached, {
      publicUrl,
      internalUrl,
      defaultModelId: models.defaultModelId,
      known: readAccess(state.read(accessFile)),
      // Stored before they are used: if a start is killed before it writes access.json, the next start uses the same secrets.
      secrets: {
        operatorPassword: state.secret('operator_password'),
        ownerPassword: state.secret('owner_password'),
        serviceKey: state.keep('bootstrap_service_key', newServiceKeyPlaintext),
      },
      resets,
    });
    state.write(accessFile, made.access);
    return { ...made, modelId: models.defaultModelId };
  });
}

/** The content of `access.json`; null if there is none yet or it is not ours. */
export function readAccess(value: unknown): BootstrapAccess | null {
  if (value === null || typeof value !== 'object') return null;
  const field = (name: keyof BootstrapAccess): string => {
    const found: unknown = Reflect.get(value, name);
    return typeof found === 'string' ? found : '';
  };
  const access = {
    base_url: field('base_url'),
    email: field('email'),
    password: field('password'),
    operator_email: field('operator_email'),
    operator_password: field('operator_password'),
    service_key: field('service_key'),
    organization_id: field('organization_id'),
    workspace_id: field('workspace_id'),
    agent_id: field('agent_id'),
  };
  return Object.values(access).includes('') ? null : access;
}
