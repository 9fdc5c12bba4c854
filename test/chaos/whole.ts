/** Whether the whole fault matrix is played (`npm run test:chaos`); `npm test` plays one fault of each kind. */
export const isWholeMatrix = process.env['CHAOS_WHOLE'] === '1';

/** The cases of a table that a run plays: all of them in the whole matrix, else the first of each kind. */
export function oneOfEach<Case>(cases: readonly Case[], kindOf: (one: Case) => string): readonly Case[] {
  if (isWholeMatrix) return cases;
  const kinds = cases.map(kindOf);
  return cases.filter((_one, at) => kinds.indexOf(kinds[at] ?? '') === at);
}
