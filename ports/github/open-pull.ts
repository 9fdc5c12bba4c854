import type { RepositoryClient } from './client.ts';

/** A pull request of the App's own. */
export interface OwnPull {
  readonly branch: string;
  /** The branch that it goes onto. */
  readonly base: string;
  readonly title: string;
  /** What it does, in words that may be posted. */
  readonly note: string;
  /** The pull request that it repairs. */
  readonly pullNumber: number;
}

/** Opens a pull request from a branch of the repository, and gives its number; one that is open from there already is given instead. Throws HostError. */
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
