import type { ReviewBinding } from '../../../db/code-review/pulls/review-run.ts';
import { appsFor } from '../../../domain/code-review/app-credentials.ts';
import { cloneUrl, type Mirror } from '../../../ports/git/mirrors.ts';
import type { RepositoryClient } from '../../../ports/github/client.ts';
import type { TokenPermissions } from '../../../ports/github/tokens.ts';
import { fail } from '../../../workflows/contracts/failure.ts';
import type { ActivityDeps } from '../../deps.ts';
import { transactAsSystem } from '../../support/as-system.ts';
import { giveUp } from '../../support/failures.ts';

/** What is needed to reach a binding's repository. */
export interface RepositoryPlace {
  readonly organizationId: string;
  readonly workspaceId: string;
  readonly binding: ReviewBinding;
}

/**
 * Returns the host's client of a bound repository, for the App that proved access to it; its tokens cover only this repository. Fails the activity without
 * retry (409 `installation_gone`) when no App may act for the workspace any more. `permissions`: of its tokens; those of a review unless given.
 */
export async function openRepository(
  deps: ActivityDeps,
  { organizationId, workspaceId, binding }: RepositoryPlace,
  permissions?: TokenPermissions,
): Promise<RepositoryClient> {
  const { installationId, repoId: repositoryId, repoFullName: fullName } = binding;
  const apps = await transactAsSystem(deps, (tx) =>
    appsFor(tx, { keys: deps.keys, github: deps.env.github }, { organizationId, workspaceId, installationId }),
  );
  const found = apps.find(({ kind }) => kind === binding.appKind);
  if (found === undefined || binding.installationState !== 'ok')
    throw giveUp(
      fail('state_conflict', {
        reason: 'installation_gone',
        detail: 'The App of the binding is no longer allowed to read its repository.',
      }),
    );
  return deps.github.repository({ app: found.app, installationId, repositoryId, fullName, ...(permissions ? { permissions } : {}) });
}

/** Returns the mirror of a bound repository on this worker's disk. `fullName`: of the repository to fetch from, when that is a fork of it. */
export function openMirror(
  deps: ActivityDeps,
  binding: ReviewBinding,
  client: RepositoryClient,
  fullName: string = binding.repoFullName,
): Promise<Mirror> {
  const { clone, max_clone_mb: maxMb } = binding.workspaceConfig;
  return deps.mirrors.open({
    bindingId: binding.id,
    url: cloneUrl(deps.env.github.gitUrl, fullName),
    token: (signal, isNew) => client.token(signal, isNew),
    clone,
    maxBytes: maxMb * 1_024 * 1_024,
  });
}
