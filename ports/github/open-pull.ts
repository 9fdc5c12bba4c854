import type { RepositoryClient } from './client.ts';

/** A pull request that the App opens. */
export interface OwnPull {
  readonly branch: string;
  /** The branch that it targets. */
  readonly base: string;
  readonly title: string;
  /** A description that may be posted. */
  readonly note: string;
  /** The pull request that it repairs. */
  readonly pullNumber: number;
}

/** Opens a pull request from a branch of the repository and returns its number, or that of one that is already open from there. Throws HostError. */
export async function openPullOnto(
  client: RepositoryClient,
  { branch, base, title, note, pullNumber }: OwnPull,
  signal: AbortSignal,
): Promise<number> {
  const [owner = ''] = client.fullName.split('/');
  const { data: found } = await client.rest(
    'GET /repos/{owner}/{repo}/pulls',
    { head: `${owner}:${branch}`, base, state: 'open' },
    { signal },
  );
  const [open] = found;
  if (open !== undefined) return Number(open.number);
  const body = [note, `Repairs findings of #${pullNumber}.`].filter((part) => part.trim() !== '').join('\n\n');
  const { data } = await client.rest(
    'POST /repos/{owner}/{repo}/pulls',
    { head: branch, base, title: title.slice(0, 250), body },
    { signal },
  );
  return Number(data.number);
}
