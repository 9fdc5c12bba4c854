import { readFindings, readGroups, readVote, readWords } from './answers.ts';
import { concludeReview, type Conclusion } from './conclude.ts';
import type { Candidate, KnownFinding } from './finding.ts';
import { passGates, type GateResult } from './gates.ts';
import type { MaterialFile, ReviewMaterial, ReviewRules } from './material.ts';
import { byWeight, mergeGroups, mergeSame } from './merge.ts';
import type { DiffBatch } from './render-diff.ts';
import { isDecided, stands, votedConfidence, type Vote } from './verify.ts';

/** A call of a model. `ordinal` names the call within its stage, the same each time. */
export interface StageCall {
  readonly stage: 'summary' | 'pass' | 'verify' | 'fixed' | 'same' | 'reply';
  readonly ordinal: number;
}

/** The outcome of a call: a value, of whatever form, or the reason why there is none. */
export type StageAnswer =
  | { readonly kind: 'given'; readonly value: unknown }
  | { readonly kind: 'failed'; readonly reason: 'budget' | 'limit' | 'model' };

type Reason = Extract<StageAnswer, { kind: 'failed' }>['reason'];

/** Answers by `keyOf` their call. */
export type StageAnswers = ReadonlyMap<string, StageAnswer>;

/** The key of a call among the answers. */
export function keyOf({ stage, ordinal }: StageCall): string {
  return `${stage}:${ordinal}`;
}

/** What a review does next: these calls, in any order; or it has ended. */
export type Advance =
  | { readonly kind: 'ask'; readonly calls: readonly StageCall[] }
  | { readonly kind: 'done'; readonly conclusion: Conclusion };

/**
 * Returns what a review asks next, or its conclusion. Depends on its arguments alone: called again with the same answers, after a worker has died or on another
 * one, it returns the same.
 */
export function advanceReview(material: ReviewMaterial, rules: ReviewRules, answers: StageAnswers): Advance {
  const asking = createAsking(rules, answers);
  if (material.skipReason !== null || material.mode === 'no_change' || material.isSummaryOnly)
    return conclude(material, rules, { ...nothing });

  const summary = readsSummary(material) ? asking.want({ stage: 'summary', ordinal: 0 }) : null;
  if (asking.missing.length > 0) return { kind: 'ask', calls: asking.missing };
  const passes = passCalls(material);
  const given = passes.map((call) => ({ ...call, answer: asking.want(call) }));
  if (asking.missing.length > 0) return { kind: 'ask', calls: asking.missing };

  const gated = gate(material, rules, given);
  const second = secondLook(material, rules, { candidates: gated.candidates, asking });
  const fixed = material.ledger
    .map((finding, ordinal) => ({ finding, ordinal }))
    .filter(({ finding }) => material.followUps[finding.id] === 'changed');
  const repaired = fixed.filter(({ ordinal }) => isRefuted(asking.want({ stage: 'fixed', ordinal })));
  if (asking.missing.length > 0) return { kind: 'ask', calls: asking.missing };

  const joined = joinByModel(material, second.standing, asking);
  if (asking.missing.length > 0) return { kind: 'ask', calls: asking.missing };

  return conclude(material, rules, {
    overview: readWords(valueOf(summary)),
    raw: gated.raw,
    passed: gated.candidates.length,
    refuted: second.refuted,
    candidates: joined,
    back: gated.back,
    fixed: repaired.map(({ finding }) => finding.id),
    unread: gated.unread,
    isPartial: gated.unread.length > 0 || second.isTruncated,
  });
}

/** The files and diff of a call of a pass. */
export function batchOf(
  material: ReviewMaterial,
  { ordinal }: StageCall,
): { readonly pass: number; readonly files: readonly MaterialFile[]; readonly batch: DiffBatch } {
  const pass = Math.floor(ordinal / batchesOfPass);
  const batch = material.batches[pass]?.[ordinal % batchesOfPass] ?? { paths: [], text: '' };
  const paths = new Set(batch.paths);
  return { pass, files: material.files.filter(({ patch }) => paths.has(patch.path)), batch };
}

/** The candidate of a call of the second look. */
export function candidateOf(
  material: ReviewMaterial,
  rules: ReviewRules,
  { call, answers }: { readonly call: StageCall; readonly answers: StageAnswers },
): Candidate | null {
  const given = passCalls(material).map((pass) => ({ ...pass, answer: answers.get(keyOf(pass)) ?? null }));
  return gate(material, rules, given).candidates[Math.floor(call.ordinal / votesOfCandidate)] ?? null;
}

/** The findings that a call of `same` compares: those of one file that stand, in the order of their numbers. */
export function comparedOf(
  material: ReviewMaterial,
  rules: ReviewRules,
  { call, answers }: { readonly call: StageCall; readonly answers: StageAnswers },
): readonly Candidate[] {
  const asking = createAsking(rules, answers);
  const given = passCalls(material).map((pass) => ({ ...pass, answer: answers.get(keyOf(pass)) ?? null }));
  const { standing } = secondLook(material, rules, { candidates: gate(material, rules, given).candidates, asking });
  return standing.filter(({ path }) => path === material.files[call.ordinal]?.patch.path);
}

const batchesOfPass = 1_000;
const votesOfCandidate = 10;
/** The most findings that get a second look. */
const maxCandidates = 60;

const nothing = {
  overview: '',
  raw: 0,
  passed: 0,
  refuted: 0,
  candidates: [],
  back: [],
  fixed: [],
  unread: [],
  isPartial: false,
} as const;

function conclude(material: ReviewMaterial, rules: ReviewRules, found: Parameters<typeof concludeReview>[2]): Advance {
  return { kind: 'done', conclusion: concludeReview(material, rules, found) };
}

function readsSummary({ files }: ReviewMaterial): boolean {
  return files.length > 0;
}

interface Asking {
  /** Returns the answer to a call, or null while there is none; the call is then added to `missing`. Returns a failed answer when no more calls may be made. */
  want(call: StageCall): StageAnswer | null;
  readonly missing: StageCall[];
}

/** No call is made once the budget has refused one, or when as many were made as the playbook allows. */
function createAsking({ templates }: ReviewRules, answers: StageAnswers): Asking {
  const isSpent = [...answers.values()].some((answer) => answer.kind === 'failed' && answer.reason === 'budget');
  const missing: StageCall[] = [];
  return {
    missing,
    want(call) {
      const answer = answers.get(keyOf(call));
      if (answer !== undefined) return answer;
      if (isSpent) return { kind: 'failed', reason: 'budget' };
      if (answers.size + missing.length >= templates.limits.max_calls) return { kind: 'failed', reason: 'limit' };
      missing.push(call);
      return null;
    },
  };
}

function valueOf(answer: StageAnswer | null): unknown {
  return answer?.kind === 'given' ? answer.value : null;
}

function passCalls({ batches }: ReviewMaterial): StageCall[] {
  return batches.flatMap((own, pass) => own.map((_batch, at): StageCall => ({ stage: 'pass', ordinal: pass * batchesOfPass + at })));
}

interface Gated {
  readonly raw: number;
  readonly candidates: readonly Candidate[];
  readonly back: readonly KnownFinding[];
  /** Files of calls that returned nothing. */
  readonly unread: readonly { readonly path: string; readonly reason: Reason }[];
}

function gate(
  material: ReviewMaterial,
  rules: ReviewRules,
  given: readonly (StageCall & { readonly answer: StageAnswer | null })[],
): Gated {
  const files = new Map(material.files.map((file) => [file.patch.path, file]));
  const findings = given.flatMap(({ answer }) => readFindings(valueOf(answer)).findings);
  const judged = findings.map((finding) =>
    passGates(finding, {
      files,
      categories: rules.templates.categories,
      minSeverity: rules.config.min_severity,
      minConfidence: (category) => minConfidence(rules, category),
      ledger: material.ledger,
    }),
  );
  const passed = judged.filter((result): result is Extract<GateResult, { kind: 'passed' }> => result.kind === 'passed');
  const unread = new Map<string, Reason>();
  for (const call of given) {
    if (call.answer?.kind !== 'failed') continue;
    for (const path of batchOf(material, call).batch.paths) unread.set(path, call.answer.reason);
  }
  return {
    raw: findings.length,
    candidates: mergeSame(passed.map(({ candidate }) => candidate))
      .toSorted(byWeight)
      .slice(0, maxCandidates),
    back: passed.flatMap(({ back }) => back ?? []),
    unread: [...unread].map(([path, reason]) => ({ path, reason })),
  };
}

/** The confidence below which a finding of a category is dropped: the binding's own for all, else the playbook's with its exceptions. */
function minConfidence({ config, templates }: ReviewRules, category: string): number {
  const exception = templates.confidence.exceptions.find((each) => each.category === category);
  return config.min_confidence ?? exception?.min ?? templates.confidence.min;
}

interface SecondLook {
  readonly standing: readonly Candidate[];
  readonly refuted: number;
  /** Some candidates got no second look: they are not reported. */
  readonly isTruncated: boolean;
}

/** Requests as many votes as a majority needs, and the others only when those differ. */
function secondLook(
  _material: ReviewMaterial,
  rules: ReviewRules,
  { candidates, asking }: { readonly candidates: readonly Candidate[]; readonly asking: Asking },
): SecondLook {
  const { votes: wanted, enabled } = rules.templates.verify;
  if (!enabled || !rules.config.verify) return { standing: candidates, refuted: 0, isTruncated: false };
  const standing: Candidate[] = [];
  let refuted = 0;
  let isTruncated = false;
  for (const [at, candidate] of candidates.entries()) {
    const vote = votesOn({ at, wanted, asking });
    if (vote.isTruncated) isTruncated = true;
    else if (stands(vote.votes, wanted, minConfidence(rules, candidate.category))) {
      standing.push({ ...candidate, confidence: Math.min(candidate.confidence, votedConfidence(vote.votes) ?? 0) });
    } else refuted += 1;
  }
  return { standing, refuted, isTruncated };
}

function votesOn({ at, wanted, asking }: { readonly at: number; readonly wanted: number; readonly asking: Asking }): {
  votes: Vote[];
  isTruncated: boolean;
} {
  const votes: Vote[] = [];
  let failed = 0;
  const ask = (from: number, to: number) => {
    for (let vote = from; vote < to; vote += 1) {
      const answer = asking.want({ stage: 'verify', ordinal: at * votesOfCandidate + vote });
      const given = readVote(valueOf(answer));
      if (given !== null) votes.push(given);
      else if (answer !== null) failed += 1;
    }
  };
  const majority = Math.floor(wanted / 2) + 1;
  ask(0, majority);
  if (votes.length + failed < majority) return { votes, isTruncated: false };
  if (!isDecided(votes, wanted)) ask(majority, wanted);
  return { votes, isTruncated: failed > 0 && !isDecided(votes, wanted) };
}

function isRefuted(answer: StageAnswer | null): boolean {
  const vote = readVote(valueOf(answer));
  return vote !== null && !vote.stands;
}

/** Makes one call for each file with several findings, which may be one issue in other words. Without its answer they stay separate. */
function joinByModel(material: ReviewMaterial, standing: readonly Candidate[], asking: Asking): Candidate[] {
  return material.files.flatMap(({ patch }, ordinal) => {
    const own = standing.filter(({ path }) => path === patch.path);
    if (own.length < 2) return own;
    return mergeGroups(own, readGroups(valueOf(asking.want({ stage: 'same', ordinal }))));
  });
}
