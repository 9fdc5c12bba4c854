import type { RepositoryClient } from '../../../ports/github/client.ts';
import { readFileAt } from '../../../ports/github/contents.ts';
import type { Change } from '../read/read-change.ts';
import { onHost } from './host-failure.ts';

/** Texts that one review asks the host for, a request each: the first ones of a list count. */
const maxTexts = 50;

/** Texts of files as the host gives them, where there is no mirror. Throws in the workflow's words what the host fails with. */
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
