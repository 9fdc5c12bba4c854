import type { RepositoryClient } from './client.ts';
import { HostError } from './host-error.ts';

export type RepositoryPermission = 'admin' | 'write' | 'read' | 'none';

/**
 * Returns what a person may do in the repository: `maintain` counts as write, `triage` as read. A person whom the host doesn't know may do nothing. Throws
 * HostError.
 */
export async function permissionOf(client: RepositoryClient, login: string, signal: AbortSignal): Promise<RepositoryPermission> {
  try {
    const route = 'GET /repos/{owner}/{repo}/collaborators/{username}/permission';
    const { data } = await client.rest(route, { username: login }, { signal });
    const { permission } = data;
    return permission === 'admin' || permission === 'write' || permission === 'read' ? permission : 'none';
  } catch (error) {
    if (error instanceof HostError && error.kind === 'gone') return 'none';
    throw error;
  }
}
