import { createGitHub } from '../../ports/github/client.ts';
import { areaDependency } from '../http/operation/area-dependency.ts';
import type { Deps } from '../http/operation/deps.ts';

/** The Git host's API, for proofs: nothing else of it is asked in a request. */
export const gitHubOf = areaDependency(({ egress, env }: Pick<Deps, 'egress' | 'env'>) =>
  createGitHub({ egress, apiUrl: env.github.apiUrl, bucket: null }),
);
