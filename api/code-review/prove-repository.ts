import type { Static } from 'typebox';
import { findBinding, type BindingPlace } from '../../db/code-review/bindings/bindings.ts';
import { resolveNewRowWorkspace } from '../../db/new-row-scope.ts';
import { systemActor, tenantOf, transact } from '../../db/transaction.ts';
import { appsFor, type CandidateApp } from '../../domain/code-review/app-credentials.ts';
import type { ProvenRepository } from '../../domain/code-review/bindings.ts';
import { deadlineIn } from '../../ports/deadline.ts';
import { HostError } from '../../ports/github/host-error.ts';
import { proveInstallation, type InstallationProof } from '../../ports/github/prove.ts';
import { fail } from '../../workflows/contracts/failure.ts';
import type { IdentifyRequest } from '../http/operation/operation.ts';
import { gitHubOf } from './dependencies.ts';
import type { RepoBindingCreate, RepoBindingUpdate } from './binding.schema.ts';

const proofMs = 8_000;

type Asked<B> = IdentifyRequest<B>;

/**
 * Proves, before the transaction, that the workspace of a new binding has the installation, and this the repository. Throws the same 404 for an installation that is not
 * its, not there, or not granted the repository, 502 and 504 where the host does not answer within 8 s, and what naming the workspace throws.
 */
export async function proveNewBinding(request: Asked<Static<typeof RepoBindingCreate>>): Promise<ProvenRepository> {
  const { installation_id: installationId, repo_full_name: fullName, workspace_id: workspaceId } = request.body;
  const apps = await read(request, async (ctx) => {
    const place = await resolveNewRowWorkspace(ctx, workspaceId);
    return candidates(request, ctx, { ...place, installationId });
  });
  return prove(request, apps, { installationId, fullName });
}

/** The same for a change that names an installation; null if it names none or the binding does not exist, which the handler reports. */
export async function proveChangedBinding(
  request: Asked<Static<typeof RepoBindingUpdate>> & { readonly params: { readonly binding_id: string } },
): Promise<ProvenRepository | null> {
  const { installation_id: installationId } = request.body;
  if (installationId === undefined) return null;
  const found = await read(request, async (ctx) => {
    const binding = await findBinding(ctx, request.params.binding_id);
    return binding && { fullName: binding.repoFullName, apps: await candidates(request, ctx, { ...binding, installationId }) };
  });
  return found && prove(request, found.apps, { installationId, fullName: found.fullName });
}

type Reading = Parameters<typeof resolveNewRowWorkspace>[0];

/** A short transaction in the caller's tenant; opening a secret notes its use. */
async function read<R>({ deps, caller, floor, correlationId }: Asked<unknown>, work: (ctx: Reading) => Promise<R>): Promise<R> {
  const { value } = await transact(deps.db, { tenant: tenantOf(caller), actor: systemActor, correlationId }, (tx) =>
    work({ ...tx, caller, floor }),
  );
  return value;
}

function candidates(
  { deps }: Asked<unknown>,
  ctx: Reading,
  asked: BindingPlace & { readonly installationId: number },
): Promise<CandidateApp[]> {
  return appsFor(ctx, { keys: deps.keys, github: deps.env.github }, asked);
}

async function prove(
  { deps }: Asked<unknown>,
  apps: readonly CandidateApp[],
  { installationId, fullName }: { readonly installationId: number; readonly fullName: string },
): Promise<ProvenRepository> {
  const signal = deadlineIn(proofMs);
  for (const { kind, app } of apps) {
    const proof = await askHost(() => proveInstallation(gitHubOf(deps), { app, installationId, fullName }, signal));
    if (proof.state === 'proven') return { installationId, appKind: kind, repoId: proof.repositoryId, repoFullName: proof.fullName };
  }
  // One answer for all that can be wrong: who guesses learns nothing of others' installations and repositories.
  throw fail('not_found');
}

async function askHost(work: () => Promise<InstallationProof>): Promise<InstallationProof> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof HostError)) throw error;
    const detail = 'The Git host could not be reached to check the installation.';
    throw error.kind === 'timeout' ? fail('upstream_timeout', { detail }) : fail('upstream_failed', { detail });
  }
}
