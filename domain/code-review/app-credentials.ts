import { isListedInstallation, type BindingPlace } from '../../db/code-review/bindings/bindings.ts';
import type { KeyRing } from '../../db/key-ring.ts';
import { resolveSecret } from '../secrets/resolve-secret.ts';
import type { TenantTransaction } from '../../db/tenant-transaction.ts';
import { isAppKey, pemOf, type AppCredentials } from '../../ports/github/app-key.ts';
import type { GitHubSettings } from '../../ports/github/settings.ts';
import type { AppKind } from '../../workflows/contracts/review/pull-requests.ts';

/** Names of the secrets that hold a workspace's own App. */
export const appSecretNames = { id: 'github_app_id', key: 'github_app_private_key' } as const;

/** An App that may act for a workspace. */
export interface CandidateApp {
  readonly kind: AppKind;
  readonly app: AppCredentials;
}

/** The parts of the deployment that are needed to find them. */
export interface AppDeps {
  readonly keys: Pick<KeyRing, 'keks'>;
  readonly github: Pick<GitHubSettings, 'app'>;
}

/**
 * Returns the Apps with which a workspace may reach an installation: its own, by its own secrets; then the deployment's, if an operator has listed the
 * installation for the workspace. Secrets of the organization do not count as the workspace's own.
 */
export async function appsFor(
  tx: TenantTransaction,
  { keys, github }: AppDeps,
  asked: BindingPlace & { readonly installationId: number },
): Promise<CandidateApp[]> {
  const own = await ownApp(tx, keys, asked);
  const isListed = github.app !== null && (await isListedInstallation(tx, asked, asked.installationId));
  return [
    ...(own ? [{ kind: 'workspace' as const, app: own }] : []),
    ...(isListed && github.app ? [{ kind: 'deployment' as const, app: github.app }] : []),
  ];
}

/** The workspace's own App; null when its secrets name none that can sign. */
export async function ownApp(
  tx: TenantTransaction,
  keys: Pick<KeyRing, 'keks'>,
  { organizationId, workspaceId }: BindingPlace,
): Promise<AppCredentials | null> {
  const row = { scope: 'workspace', toolId: null, organizationId, workspaceId } as const;
  const appId = await resolveSecret(tx, keys, { name: appSecretNames.id, row });
  const key = await resolveSecret(tx, keys, { name: appSecretNames.key, row });
  if (appId === null || key === null || !isAppKey(key)) return null;
  return { appId: appId.trim(), privateKey: pemOf(key) };
}
