import type { RepositoryClient } from './client.ts';

export type CheckConclusion = 'success' | 'neutral' | 'failure' | 'cancelled';

/** GitHub REST API, "Update a check run": `output.annotations`. */
export interface CheckAnnotation {
  readonly path: string;
  readonly start_line: number;
  readonly end_line: number;
  readonly annotation_level: 'notice' | 'warning' | 'failure';
  readonly title: string;
  readonly message: string;
}

/** A button below a check; a click arrives as `check_run.requested_action`. */
export interface CheckAction {
  readonly label: string;
  readonly description: string;
  readonly identifier: string;
}

export interface CheckOutput {
  readonly title: string;
  readonly summary: string;
  /** At most `maxAnnotations`; each request adds its annotations to the earlier ones. */
  readonly annotations: readonly CheckAnnotation[];
}

/** Maximum annotations of one request. */
export const maxAnnotations = 50;

export interface HostCheck {
  readonly id: number;
  readonly annotations: number;
  readonly conclusion: string | null;
}

/** Returns the check of this name with our external id on a commit; null: there is none. Throws HostError. */
export async function findCheck(
  client: RepositoryClient,
  { headSha, name, externalId }: { readonly headSha: string; readonly name: string; readonly externalId: string },
  signal: AbortSignal,
): Promise<HostCheck | null> {
  const parameters = { ref: headSha, check_name: name, filter: 'all' as const, per_page: 100 };
  const { data } = await client.rest('GET /repos/{owner}/{repo}/commits/{ref}/check-runs', parameters, { signal });
  const found = data.check_runs.find((check) => check.external_id === externalId);
  if (!found) return null;
  return { id: Number(found.id), annotations: Number(found.output.annotations_count), conclusion: found.conclusion };
}

/** Shows that the work has begun. Returns the id of the check. Throws HostError. */
export async function createCheck(
  client: RepositoryClient,
  { headSha, name, externalId }: { readonly headSha: string; readonly name: string; readonly externalId: string },
  signal: AbortSignal,
): Promise<number> {
  // The API description has one type for a completed check and one for all others; this is one of the others.
  const parameters = { name, head_sha: headSha, external_id: externalId, status: 'in_progress' as const };
  const { data } = await client.rest('POST /repos/{owner}/{repo}/check-runs', parameters, { signal });
  return Number(data.id);
}

/** Adds annotations without a conclusion. Throws HostError. */
export async function annotateCheck(client: RepositoryClient, checkId: number, output: CheckOutput, signal: AbortSignal): Promise<void> {
  const parameters = { check_run_id: checkId, output: { ...output, annotations: [...output.annotations] } };
  await client.rest('PATCH /repos/{owner}/{repo}/check-runs/{check_run_id}', parameters, { signal });
}

/** Ends a check; repeating it only updates its text and conclusion. Throws HostError. */
export async function endCheck(
  client: RepositoryClient,
  checkId: number,
  {
    conclusion,
    output,
    actions,
  }: { readonly conclusion: CheckConclusion; readonly output: CheckOutput; readonly actions: readonly CheckAction[] },
  signal: AbortSignal,
): Promise<void> {
  const said = {
    title: output.title,
    summary: output.summary,
    ...(output.annotations.length === 0 ? {} : { annotations: [...output.annotations] }),
  };
  const parameters = { check_run_id: checkId, status: 'completed' as const, conclusion, output: said, actions: [...actions] };
  await client.rest('PATCH /repos/{owner}/{repo}/check-runs/{check_run_id}', parameters, { signal });
}
