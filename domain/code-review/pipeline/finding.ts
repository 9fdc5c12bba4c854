import type { Anchor } from '../../../ports/diff/anchors.ts';
import type { FindingCategory, FindingState, Placement, Severity } from '../../../workflows/contracts/review/code-review.ts';

/** An unverified finding of a model's pass, in the model's words. */
export interface RawFinding {
  readonly path: string;
  readonly start_line: number;
  readonly end_line: number;
  readonly side: 'LEFT' | 'RIGHT';
  readonly category: string;
  readonly rule_id?: string | null;
  readonly severity: string;
  /** 0 to 1. */
  readonly confidence: number;
  readonly title: string;
  readonly scenario: string;
  readonly evidence_quote: string;
  readonly suggestion?: string | null;
}

/** A finding that has passed the gates: it lies on the reviewed surface, and its evidence occurs there. */
export interface Candidate {
  readonly fingerprint: string;
  readonly category: FindingCategory;
  readonly ruleId: string | null;
  readonly severity: Severity;
  readonly confidence: number;
  readonly path: string;
  /** Null: its evidence occurs in the file more than once, and not where the model said. */
  readonly anchor: Anchor | null;
  /** The line that the model named, for a null anchor. */
  readonly saidLine: number;
  readonly side: 'LEFT' | 'RIGHT';
  readonly title: string;
  readonly scenario: string;
  readonly evidence: string;
  /** Code that replaces the anchored lines; null: none. */
  readonly suggestion: string | null;
  /** Other locations of the same fault. */
  readonly alsoAt: readonly { readonly path: string; readonly line: number }[];
}

/** A candidate and where it is posted. */
export interface PlacedFinding extends Candidate {
  readonly placement: Placement;
}

/** A finding of the ledger, as the pipeline needs it. */
export interface KnownFinding {
  readonly id: string;
  readonly fingerprint: string;
  readonly state: FindingState;
  readonly path: string;
  readonly side: 'LEFT' | 'RIGHT';
  readonly category: string;
  readonly ruleId: string | null;
  readonly severity: Severity;
  readonly evidence: string;
}

/** Why a finding did not pass a gate. */
export type GateReason =
  | 'form'
  | 'path'
  | 'surface'
  | 'evidence'
  | 'category'
  | 'severity'
  | 'confidence'
  | 'dismissed'
  | 'known'
  | 'repeated';
