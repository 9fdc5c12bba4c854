import type { ReviewRun } from '../../../db/code-review/pulls/review-run.ts';
import type { Change } from './read-change.ts';

const instructionsPath = '.longhaul/review.md';
const maxInstructions = 64 * 1024;

/** What the repository asks of reviews and repairs; empty: nothing, or its binding does not want that read. It comes from the base branch: nothing that the pull request brings says how it is judged. */
export async function readInstructions(
  { binding }: Pick<ReviewRun, 'binding'>,
  baseSha: string | null,
  readText: Change['readText'],
): Promise<string> {
  if (!binding.reviewConfig.repo_instructions || baseSha === null) return '';
  return (await readText(baseSha, instructionsPath, maxInstructions)) ?? '';
}
