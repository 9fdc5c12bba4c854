import type { RepositoryClient } from './client.ts';
import { HostError } from './host-error.ts';

/**
 * Returns a file of a commit as text: GitHub REST API, "Get repository content", which returns the bytes of files up to 1 MB. Null: it does not exist, is not
 * text, or is longer than `maxBytes`. Undefined: the host does not return it. Throws HostError.
 */
export async function readFileAt(
  client: RepositoryClient,
  { sha, path, maxBytes }: { readonly sha: string; readonly path: string; readonly maxBytes: number },
  signal: AbortSignal,
): Promise<string | null | undefined> {
  try {
    const { data } = await client.rest('GET /repos/{owner}/{repo}/contents/{path}', { path, ref: sha }, { signal });
    if (Array.isArray(data) || data.type !== 'file') return null;
    if (data.size > maxBytes) return null;
    if (data.encoding !== 'base64') return undefined;
    const bytes = Buffer.from(data.content, 'base64');
    return bytes.includes(0) ? null : bytes.toString();
  } catch (error) {
    if (!(error instanceof HostError)) throw error;
    if (error.kind === 'gone') return null;
    if (error.kind === 'forbidden') return undefined;
    throw error;
  }
}
