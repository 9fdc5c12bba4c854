import type { LineReplacement } from './apply.ts';
import type { PastRound, ShownFile } from './conversation.ts';
import type { EditRefusal, EditRights } from './rules.ts';

/** The stages under which an editor stores its results among the answers of its run: per attempt, and per round. */
export const editStages = { start: 'edit-start', ask: 'edit', past: 'edit-past', made: 'edit-made', pushed: 'edit-pushed' } as const;

const roundsOfAttempt = 100;

/** The ordinal of a round among those of all attempts. */
export function roundOrdinal(attempt: number, round: number): number {
  return attempt * roundsOfAttempt + round;
}

/** A finding that is to be repaired. */
export interface FindingToRepair {
  readonly id: string;
  readonly path: string;
  readonly startLine: number;
  readonly endLine: number;
  readonly title: string;
  readonly scenario: string;
  readonly suggestion: string | null;
}

/** The input of an attempt. */
export interface EditStart extends EditRights {
  readonly headSha: string;
  readonly headRef: string;
  /** `owner/name`; null: the repository no longer exists. */
  readonly headRepository: string | null;
  readonly findings: readonly FindingToRepair[];
  readonly files: readonly ShownFile[];
  /** The playbook's prompt, rendered. */
  readonly task: string;
}

/** A round that has been answered. */
export type KeptRound = PastRound;

/** The result of an attempt. */
export interface EditMade {
  /** Null: nothing is pushed. */
  readonly commitSha: string | null;
  readonly refusal: EditRefusal | null;
  readonly detail: string | null;
  readonly note: string;
  readonly replacements: readonly LineReplacement[];
}

/** The outcome of a push. */
export interface EditPushed {
  readonly commitSha: string | null;
  readonly branch: string | null;
  /** The number of the editor's own pull request; null: it opened none. */
  readonly pullNumber: number | null;
  readonly refusal: EditRefusal | null;
  readonly detail: string | null;
}
