import { sql } from 'kysely';
import type { CurationState } from '../../../workflows/contracts/knowledge/curation.ts';

const states = ['pending', 'reviewed', 'promoted'] as const satisfies readonly CurationState[];

/** States of items that still count, being neither superseded nor retired; in the text, so that the planner knows them. */
export const standingStates = states.map((state) => sql.lit<CurationState>(state));
