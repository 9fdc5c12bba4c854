import type { RepositoryClient } from '../../../ports/github/client.ts';
import { onHost } from '../host/host-failure.ts';

/** A pull request as the host has it now. */
export interface HostPull {
  readonly isOpen: boolean;
  readonly isDraft: boolean;
  readonly isFork: boolean;
  readonly title: string;
  readonly description: string;
  readonly author: string;
  readonly labels: readonly string[];
  readonly headRef: string;
  readonly headSha: string;
  /** `owner/name` of the head; null: the repository is deleted. */
  readonly headRepository: string | null;
  /** Whether the author of a fork lets maintainers of the base push to the head. */
  readonly maintainersMayEdit: boolean;
  readonly baseRef: string;
  readonly changedFiles: number;
}

/** Reads a pull request. Host errors are thrown as the workflow's failures. */
export async function readHostPull(client: RepositoryClient, pullNumber: number, signal: AbortSignal): Promise<HostPull> {
  const { data: pull } = await onHost(() =>
    client.rest('GET /repos/{owner}/{repo}/pulls/{pull_number}', { pull_number: pullNumber }, { signal }),
  );
  // GitHub's API description always has a head repository; that of a deleted fork is null.
  const head: { readonly full_name: string } | null = pull.head.repo;
  return {
    isOpen: pull.state === 'open',
    isDraft: pull.draft === true,
    // A fork whose repository is deleted has no head repository.
    isFork: pull.head.repo === null || pull.head.repo.id !== pull.base.repo.id,
    title: pull.title,
    description: pull.body ?? '',
    author: pull.user.login,
    labels: pull.labels.map(({ name }) => name),
    headRef: pull.head.ref,
    headSha: pull.head.sha,
    headRepository: head?.full_name ?? null,
    maintainersMayEdit: pull.maintainer_can_modify,
    baseRef: pull.base.ref,
    changedFiles: pull.changed_files,
  };
}
