import type { GitHub } from './client.ts';
import { HostError, type HostErrorKind } from './host-error.ts';
import type { AppCredentials } from './app-key.ts';

/**
 * The result of the proof. `suspended`: the installation belongs to the App, and is suspended. `unproven`: it belongs to another App, is not granted, or does
 * not exist; the result does not reveal which.
 */
export type InstallationProof =
  | {
      readonly state: 'proven';
      readonly repositoryId: number;
      /** As the host spells it. */
      readonly fullName: string;
      readonly defaultBranch: string;
    }
  | { readonly state: 'suspended' | 'unproven' };

const unproven: ReadonlySet<HostErrorKind> = new Set(['gone', 'unauthorized', 'forbidden', 'invalid']);

/**
 * Checks whether the App has the installation (`GET /app/installations/{id}` answers its JWT) and the installation has the repository: a token narrowed to the
 * name can read it, and its id is among those that the token opens. Without the latter any public repository would pass, since every token can read those.
 * Throws HostError when the host does not answer (`kind` is `timeout`, or another), or the signal's reason.
 */
export async function proveInstallation(
  github: GitHub,
  { app, installationId, fullName }: { readonly app: AppCredentials; readonly installationId: number; readonly fullName: string },
  signal: AbortSignal,
): Promise<InstallationProof> {
  const [owner = '', name = '', ...rest] = fullName.split('/');
  if (owner === '' || name === '' || rest.length > 0) return { state: 'unproven' };
  try {
    const route = 'GET /app/installations/{installation_id}';
    const { data: installation } = await github.tokens.asApp(app, { route, parameters: { installation_id: installationId } }, signal);
    if (installation.suspended_at !== null) return { state: 'suspended' };

    const scope = { installationId, repository: { name }, permissions: { metadata: 'read' } } as const;
    // The proof is about the present: a cached token would prove the past.
    github.tokens.drop(app, scope);
    const { repositoryIds } = await github.tokens.forInstallation(app, scope, signal);
    const { data: found } = await github.scoped(app, scope, fullName).rest('GET /repos/{owner}/{repo}', {}, { signal });
    const repositoryId = Number(found.id);
    if (!repositoryIds.includes(repositoryId)) return { state: 'unproven' };
    return { state: 'proven', repositoryId, fullName: found.full_name, defaultBranch: found.default_branch };
  } catch (error) {
    if (error instanceof HostError && unproven.has(error.kind)) return { state: 'unproven' };
    throw error;
  }
}
