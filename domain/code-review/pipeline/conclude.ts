import { commentable } from '../../../ports/diff/anchors.ts';
import type { ReviewCounts, ReviewMode, ReviewVerdict, SkipReason } from '../../../workflows/contracts/review/code-review.ts';
import type { Candidate, KnownFinding, PlacedFinding } from './finding.ts';
import type { ReviewMaterial, ReviewRules } from './material.ts';
import { placeFindings } from './place.ts';
import { summaryText } from './summary-text.ts';
import { blocks, checkConclusion, verdictOf, type CheckConclusion, type ReviewEnd } from './verdict.ts';

/** The findings of the stages. */
export interface Found {
  readonly overview: string;
  readonly raw: number;
  readonly passed: number;
  readonly refuted: number;
  readonly candidates: readonly Candidate[];
  /** Findings of the ledger that were fixed or outdated, and have come back. */
  readonly back: readonly KnownFinding[];
  /** Ids of the ledger. */
  readonly fixed: readonly string[];
  readonly unread: readonly { readonly path: string; readonly reason: string }[];
  readonly isPartial: boolean;
}

/** The conclusion of a review: what is posted, what the ledger stores, what the run outputs. */
export interface Conclusion {
  readonly mode: ReviewMode;
  readonly skipReason: SkipReason | null;
  readonly verdict: ReviewVerdict;
  readonly counts: ReviewCounts;
  /** New findings and those that came back, ranked. */
  readonly findings: readonly PlacedFinding[];
  /** Fingerprints of findings whose thread is reopened instead of posting a new comment. */
  readonly back: readonly string[];
  /** Ids of the ledger, by outcome. */
  readonly carried: readonly string[];
  readonly fixed: readonly string[];
  readonly outdated: readonly string[];
  readonly files: {
    readonly changed: number;
    readonly reviewed: number;
    readonly unread: readonly { readonly path: string; readonly reason: string }[];
  };
  readonly summary: string;
  readonly check: CheckConclusion;
  readonly isBlocking: boolean;
  /** By path, what counts as judged from now on. */
  readonly hashes: Readonly<Record<string, readonly string[]>>;
}

/** Joins the findings of a review with those of the ledger. */
export function concludeReview(material: ReviewMaterial, rules: ReviewRules, found: Found): Conclusion {
  const open = followLedger(material, found);
  const findings = place(material, rules, found);
  const unread = [...material.unread, ...found.unread];
  const isLimited = unread.some(({ reason }) => limited.has(reason));
  const end: ReviewEnd = {
    skipReason: material.skipReason,
    isPartial: found.isPartial || isLimited,
    openSeverities: [...findings, ...open.carried].map(({ severity }) => severity),
  };
  const blocking = { requestChanges: rules.config.request_changes, blockMin: rules.templates.severity.block_min };
  const verdict = verdictOf(end);
  return {
    mode: material.mode,
    skipReason: material.skipReason,
    verdict,
    counts: countsOf(material, found, { findings, carried: open.carried.length }),
    findings,
    back: findings.flatMap(({ placement, fingerprint }) => (placement === 'none' ? [fingerprint] : [])),
    carried: open.carried.map(({ id }) => id),
    fixed: found.fixed,
    outdated: open.outdated.map(({ id }) => id),
    files: { changed: material.changedFiles, reviewed: material.files.length - found.unread.length, unread },
    summary: summaryText({
      verdict,
      overview: found.overview,
      findings,
      carried: open.carried.length,
      fixed: found.fixed.length,
      unread,
      headSha: material.headSha,
      sections: rules.templates.summary.sections,
    }),
    check: checkConclusion(end, blocking),
    isBlocking: blocks(end.openSeverities, blocking),
    hashes: judgedHashes(material, found),
  };
}

/** Reasons for which a file stays unread although it was to be read. */
const limited: ReadonlySet<string> = new Set(['limit', 'budget', 'model']);

/** Open findings that no second look has found fixed are carried, or outdated when the change no longer contains their code. */
function followLedger(
  material: ReviewMaterial,
  { fixed }: Found,
): { readonly carried: readonly KnownFinding[]; readonly outdated: readonly KnownFinding[] } {
  const open = material.ledger.filter(({ id, state }) => state === 'open' && !fixed.includes(id));
  const isOutdated = ({ id }: KnownFinding) => material.followUps[id] === 'outdated';
  return { carried: open.filter((finding) => !isOutdated(finding)), outdated: open.filter(isOutdated) };
}

function place(material: ReviewMaterial, { templates, config }: ReviewRules, { candidates, back }: Found): PlacedFinding[] {
  const files = new Map(material.files.map(({ patch }) => [patch.path, commentable(patch)]));
  const returning = new Set(back.map(({ fingerprint }) => fingerprint));
  // A reopened thread does not count towards the limit: nothing new is posted for it.
  const placed = placeFindings(
    candidates.filter(({ fingerprint }) => !returning.has(fingerprint)),
    {
      maxComments: config.max_findings ?? templates.limits.max_findings,
      inlineMin: templates.severity.inline_min,
      isCommentable: ({ path, anchor }) => anchor !== null && (files.get(path)?.hunkOf(anchor) ?? null) !== null,
    },
  );
  return [
    ...placed,
    ...candidates.filter(({ fingerprint }) => returning.has(fingerprint)).map((each) => ({ ...each, placement: 'none' as const })),
  ];
}

function countsOf(
  material: ReviewMaterial,
  found: Found,
  { findings, carried }: { findings: readonly PlacedFinding[]; carried: number },
): ReviewCounts {
  const placed = (placement: string) => findings.filter((finding) => finding.placement === placement).length;
  return {
    raw: found.raw,
    gated: found.passed,
    refuted: found.refuted,
    inline: placed('inline'),
    file: placed('file'),
    folded: placed('summary'),
    carried,
    fixed: found.fixed.length,
    dismissed: material.ledger.filter(({ state }) => state === 'dismissed').length,
  };
}

/** Unread files are judged next time: only their hunks that were judged before count. */
function judgedHashes(material: ReviewMaterial, { unread }: Found): Record<string, readonly string[]> {
  const failed = new Set(unread.map(({ path }) => path));
  return Object.fromEntries(
    Object.entries(material.hashes).map(([path, hashes]) => [path, failed.has(path) ? (material.hashesBefore[path] ?? []) : hashes]),
  );
}
