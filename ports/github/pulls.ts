import type { RepositoryClient } from './client.ts';

/** A pull request as the host shows it now. */
export interface PullFacts {
  readonly number: number;
  readonly state: 'open' | 'closed';
  readonly isDraft: boolean;
  readonly title: string;
  readonly body: string;
  readonly author: string;
  readonly labels: readonly string[];
  readonly headSha: string;
  readonly headRef: string;
  /** `owner/name` of the head; null: the repository is gone. */
  readonly headRepository: string | null;
  readonly baseRef: string;
  readonly baseSha: string;
  /** The head lies in another repository, or in one that is gone. */
  readonly isFork: boolean;
  /** The author of a fork lets maintainers of the base push to the head. */
  readonly canMaintainerModify: boolean;
  readonly changedFiles: number;
}

/** Reads a pull request. Throws HostError. */
export async function readPull(client: RepositoryClient, pullNumber: number, signal: AbortSignal): Promise<PullFacts> {
  const { data } = await client.rest('GET /repos/{owner}/{repo}/pulls/{pull_number}', { pull_number: pullNumber }, { signal });
  // The description says that the head's repository is always there; of a deleted fork it is null.
  const head: { readonly id: number | bigint; readonly full_name: string } | null = data.head.repo;
  return {
    number: Number(data.number),
    state: data.state,
    isDraft: data.draft ?? false,
    title: data.title,
    body: data.body ?? '',
    author: data.user.login,
    labels: data.labels.map(({ name }) => name),
    headSha: data.head.sha,
    headRef: data.head.ref,
    headRepository: head?.full_name ?? null,
    baseRef: data.base.ref,
    baseSha: data.base.sha,
    isFork: head === null || Number(head.id) !== Number(data.base.repo.id),
    canMaintainerModify: data.maintainer_can_modify,
    changedFiles: Number(data.changed_files),
  };
}

/** A file of a pull request as the host lists it. `patch` holds its hunks; null for a binary file, and for one whose patch is too long. */
export interface PullFile {
  readonly path: string;
  readonly previousPath: string | null;
  readonly status: 'added' | 'removed' | 'modified' | 'renamed' | 'copied' | 'changed' | 'unchanged';
  readonly added: number;
  readonly removed: number;
  readonly patch: string | null;
}

const pageSize = 100;
/** https://docs.github.com/rest/pulls/pulls, "List pull requests files": 3000 files at most. */
const maxPages = 30;

/** The files of a pull request where git can't be had; the host lists 3000 at most, and then `isCut`. Throws HostError. */
export async function pullFiles(
  client: RepositoryClient,
  pullNumber: number,
  signal: AbortSignal,
): Promise<{ readonly files: readonly PullFile[]; readonly isCut: boolean }> {
  const files: PullFile[] = [];
  for (let page = 1; page <= maxPages; page += 1) {
    const parameters = { pull_number: pullNumber, per_page: pageSize, page };
    const { data } = await client.rest('GET /repos/{owner}/{repo}/pulls/{pull_number}/files', parameters, { signal });
    for (const { filename, previous_filename: previous, status, additions, deletions, patch } of data)
      files.push({
        path: filename,
        previousPath: previous ?? null,
        status,
        added: Number(additions),
        removed: Number(deletions),
        patch: patch ?? null,
      });
    if (data.length < pageSize) return { files, isCut: false };
  }
  return { files, isCut: true };
}
