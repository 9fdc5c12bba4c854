import { commentable, type Anchor, type Side } from '../../../ports/diff/anchors.ts';
import type { Hunk } from '../../../ports/diff/patch.ts';
import {
  findingCategories,
  severities,
  type FindingCategory,
  type LanguageRule,
  type PathRule,
  type Severity,
} from '../../../workflows/contracts/review/code-review.ts';
import type { Candidate, GateReason, KnownFinding, RawFinding } from './finding.ts';
import { fingerprintOf, unanchoredFingerprint } from './fingerprint.ts';
import { recognise } from './known.ts';
import { isTelling, placesOf, standsIn } from './locate.ts';
import type { FileToRead } from './select-files.ts';
import { dataText, outputCode, outputLine, outputText } from './text-safety.ts';

/** A file that is read, with the rules of the playbook that apply to it. */
export interface JudgedFile extends FileToRead {
  readonly pathRules: readonly PathRule[];
  readonly languageRules: readonly LanguageRule[];
}

export interface GateRules {
  readonly files: ReadonlyMap<string, JudgedFile>;
  readonly categories: readonly FindingCategory[];
  readonly minSeverity: Severity;
  readonly minConfidence: (category: FindingCategory) => number;
  readonly ledger: readonly KnownFinding[];
}

/** The gates' result for a finding. `back`: the finding of the ledger that has come back. */
export type GateResult =
  | { readonly kind: 'passed'; readonly candidate: Candidate; readonly back: KnownFinding | null }
  | { readonly kind: 'refused'; readonly reason: GateReason; readonly known?: KnownFinding };

/** Judges a model's finding without another model: form, path, evidence, rules of the playbook and the ledger, in this order. */
export function passGates(raw: RawFinding, rules: GateRules): GateResult {
  const path = raw.path.replace(/^(?:\.\/|[ab]\/)/u, '');
  const file = rules.files.get(raw.path) ?? rules.files.get(path);
  if (file === undefined) return refused('path');
  const category = rules.categories.find((each) => each === raw.category && findingCategories.includes(each));
  if (category === undefined) return refused('category');
  const severity = severityOf(raw, file);
  if (severity === null || outputLine(raw.title) === '' || outputText(raw.scenario).trim() === '') return refused('form');
  if (rankOf(severity) > rankOf(rules.minSeverity)) return refused('severity');
  if (!(raw.confidence >= rules.minConfidence(category))) return refused('confidence');

  const place = placeOf(raw, file);
  if (place.kind === 'refused') return place;
  const candidate = candidateOf({ raw, file, category, severity }, place);
  const found = recognise(candidate, rules.ledger, file.patch.previousPath);
  switch (found.kind) {
    case 'new':
      return { kind: 'passed', candidate, back: null };
    case 'back':
      return { kind: 'passed', candidate: { ...candidate, fingerprint: found.known.fingerprint }, back: found.known };
    case 'dismissed':
      return { kind: 'refused', reason: 'dismissed', known: found.known };
    case 'open':
      return { kind: 'refused', reason: 'known', known: found.known };
    default:
      return found satisfies never;
  }
}

/** 0 is the most severe. */
export function rankOf(severity: Severity): number {
  return severities.indexOf(severity);
}

function refused(reason: GateReason): Extract<GateResult, { kind: 'refused' }> {
  return { kind: 'refused', reason };
}

/** The override of the path takes precedence over the rule's severity, and that over the model's. */
function severityOf(raw: RawFinding, { pathRules, languageRules }: JudgedFile): Severity | null {
  const override = pathRules.find(({ severity_override: given }) => given !== undefined)?.severity_override;
  const rule = languageRules.find(({ id }) => id === raw.rule_id)?.severity;
  return override ?? rule ?? severities.find((each) => each === raw.severity) ?? null;
}

type Located =
  | { readonly kind: 'located'; readonly side: Side; readonly anchor: { readonly at: Omit<Anchor, 'path'>; readonly hunk: Hunk } | null }
  | Extract<GateResult, { kind: 'refused' }>;

/**
 * Returns the lines that the finding is about: those that the model named if its evidence occurs in them, else those where it occurs if that is a single
 * location. Refuses evidence that occurs nowhere on the surface.
 */
function placeOf(raw: RawFinding, { patch, hunks }: JudgedFile): Located {
  const evidence = raw.evidence_quote;
  if (!isTelling(evidence.trim())) return refused('evidence');
  const said = { side: raw.side, startLine: Math.min(raw.start_line, raw.end_line), line: raw.end_line };
  const surface = commentable({ ...patch, hunks });
  const hunk = surface.hunkOf(said);
  const isShort = said.line - said.startLine < maxRange;
  if (hunk !== null && isShort && standsIn(evidence, said, surface))
    return { kind: 'located', side: said.side, anchor: { at: said, hunk } };

  const places = placesOf(evidence, hunks);
  if (places.length === 0) return refused(placesOf(evidence, patch.hunks).length > 0 ? 'surface' : 'evidence');
  const near = places.filter(
    (place) => place.side === said.side && place.startLine <= said.line + nearby && place.line >= said.startLine - nearby,
  );
  const [only] = near.length === 1 ? near : places.length === 1 ? places : [];
  if (only === undefined || only.line - only.startLine >= maxRange) return { kind: 'located', side: said.side, anchor: null };
  const { side, startLine, line } = only;
  return { kind: 'located', side, anchor: { at: { side, startLine, line }, hunk: only.hunk } };
}

/** The most lines of one comment; and by how many lines a model may be off. */
const maxRange = 40;
const nearby = 3;

interface Judged {
  readonly raw: RawFinding;
  readonly file: JudgedFile;
  readonly category: FindingCategory;
  readonly severity: Severity;
}

function candidateOf({ raw, file, category, severity }: Judged, { side, anchor }: Extract<Located, { kind: 'located' }>): Candidate {
  const { path } = file.patch;
  const ruleId = file.languageRules.find(({ id }) => id === raw.rule_id)?.id ?? null;
  const about = ruleId ?? category;
  // Complete lines, so that the finding is recognised by them, and its repair noticed, whichever part of them a model quotes.
  const shown =
    anchor === null
      ? []
      : commentable(file.patch)
          .linesOf(anchor.at)
          .map(({ text }) => text);
  const evidence = dataText(shown.length > 0 ? shown.join('\n') : raw.evidence_quote)
    .slice(0, maxEvidence)
    .toWellFormed();
  const isReplaceable = anchor !== null && anchor.at.side === 'RIGHT';
  return {
    fingerprint: anchor
      ? fingerprintOf({ path, about, anchor: anchor.at, hunk: anchor.hunk })
      : unanchoredFingerprint(path, about, raw.evidence_quote),
    category,
    ruleId,
    severity,
    confidence: Math.min(1, raw.confidence),
    path,
    anchor: anchor && { path, ...anchor.at },
    saidLine: raw.end_line,
    side,
    title: outputLine(raw.title).slice(0, maxTitle).toWellFormed(),
    scenario: outputText(raw.scenario).trim().slice(0, maxScenario).toWellFormed(),
    evidence,
    suggestion: isReplaceable && typeof raw.suggestion === 'string' ? outputCode(raw.suggestion.slice(0, maxSuggestion)) : null,
    alsoAt: [],
  };
}

const maxTitle = 80;
const maxScenario = 4_000;
const maxEvidence = 4_000;
const maxSuggestion = 10_000;
