import type { RepositoryClient } from '../../../ports/github/client.ts';
import { readFileAt } from '../../../ports/github/contents.ts';
import type { Change } from '../read/read-change.ts';
import { onHost } from './host-failure.ts';

/** Maximum texts that one review requests from the host, one request each; the first ones of a list are taken. */
const maxTexts = 50;

/** Reads texts of files from the host, where there is no mirror. Host errors are thrown as the workflow's failures. */
export function textsOfHost(client: RepositoryClient, signal: AbortSignal): Pick<Change, 'readText' | 'readTexts'> {
  const readText: Change['readText'] = (sha, path, maxBytes) => onHost(() => readFileAt(client, { sha, path, maxBytes }, signal));
  return {
    readText,
    async readTexts(sha, paths, maxBytes) {
      const texts = new Map<string, string>();
      for (const path of paths.slice(0, maxTexts)) {
        const text = await readText(sha, path, maxBytes);
        if (typeof text === 'string') texts.set(path, text);
      }
      return texts;
    },
  };
}
