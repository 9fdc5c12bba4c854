import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { reviewConfigOf } from '../../api/code-review/configs.schema.ts';
import { advanceReview, keyOf, type StageAnswer, type StageCall } from '../../domain/code-review/pipeline/advance.ts';
import type { Conclusion } from '../../domain/code-review/pipeline/conclude.ts';
import type { PlacedFinding } from '../../domain/code-review/pipeline/finding.ts';
import { followUp } from '../../domain/code-review/pipeline/follow-up.ts';
import {
  batchesOf,
  linesAround,
  type LedgerFinding,
  type ReviewMaterial,
  type ReviewRules,
} from '../../domain/code-review/pipeline/material.ts';
import { selectFiles } from '../../domain/code-review/pipeline/select-files.ts';
import { surfaceOf } from '../../domain/code-review/pipeline/surface.ts';
import { work as readPatch } from '../../ports/diff/patch-work.ts';
import { work as readPaths } from '../../ports/diff/paths-work.ts';
import { countTokens } from '../../ports/models/token-count.ts';
import type { ReviewTemplates } from '../../workflows/contracts/review/code-review.ts';
import { root } from '../env.ts';
import { changedText, pathOf, sourceText, type CorpusPull } from './corpus.ts';

/** Answers a call of a review. */
export type Answering = (asked: {
  readonly pull: CorpusPull;
  readonly call: StageCall;
  readonly review: OpenReview;
}) => Promise<StageAnswer>;

/** A review under way. */
export interface OpenReview {
  readonly material: ReviewMaterial;
  readonly rules: ReviewRules;
  readonly answers: ReadonlyMap<string, StageAnswer>;
}

/** What a pull request of the corpus has come to. */
export interface Played {
  readonly pull: CorpusPull;
  readonly conclusion: Conclusion;
  readonly calls: number;
  /** After its fault was repaired, the ledger says so; null: the fault was not found, or there is none. */
  readonly isAddressed: boolean | null;
}

/** The templates of the platform's own playbook, as its migration ships them. */
export function defaultTemplates(): ReviewTemplates {
  const sql = readFileSync(join(root, 'db/migrations/0026-code-review/04-default.sql'), 'utf8');
  const json = /\$playbook\$(\{[\s\S]*\})\$playbook\$/u.exec(sql)?.[1] ?? '';
  return JSON.parse(json) as ReviewTemplates; // the migration's own
}

/** The rules that the corpus is reviewed by: the platform's playbook, and a binding with all defaults. */
export function defaultRules(): ReviewRules {
  return { templates: defaultTemplates(), config: reviewConfigOf({}) };
}

/** Reviews a pull request to its end; where its fault was found, once more with the fault repaired. */
export async function playPull(pull: CorpusPull, answering: Answering): Promise<Played> {
  const rules = defaultRules();
  const first = await review(materialOf(pull, rules, { text: changedText(pull), ledger: [] }), rules, { pull, answering });
  const found = first.conclusion.findings.find((finding) => isOf(finding, pull));
  if (found === undefined) return { pull, ...first, isAddressed: null };
  const ledger = first.conclusion.findings.map(ledgerFinding);
  const repaired = materialOf(pull, rules, { text: sourceText(pull.source), ledger });
  const second = await review(repaired, rules, { pull, answering });
  return { pull, ...first, isAddressed: second.conclusion.fixed.includes(found.fingerprint) };
}

/** Whether a finding tells of the planted fault: it, or a place beside it, lies within two lines of it. */
export function isOf({ anchor, path, alsoAt }: PlacedFinding, pull: CorpusPull): boolean {
  const line = faultLine(pull);
  if (line === null || path !== pathOf(pull)) return false;
  const ranges = [...(anchor ? [[anchor.startLine, anchor.line] as const] : []), ...alsoAt.map((also) => [also.line, also.line] as const)];
  return ranges.some(([from, to]) => from - nearby <= line && line <= to + nearby);
}

const nearby = 2;

/** The number of the fault's line on its side; null: there is no fault. */
export function faultLine(pull: CorpusPull): number | null {
  if (pull.fault === null) return null;
  const { quote, side } = pull.fault;
  const kind = side === 'LEFT' ? 'removed' : 'added';
  const [patch] = patchesOf(pull, changedText(pull));
  const lines = patch?.hunks.flatMap((hunk) => hunk.lines) ?? [];
  const line = lines.find((each) => each.kind === kind && each.text.includes(quote)) ?? lines.find((each) => each.text.includes(quote));
  return line?.newLine ?? line?.oldLine ?? null;
}

async function review(
  material: ReviewMaterial,
  rules: ReviewRules,
  { pull, answering }: { readonly pull: CorpusPull; readonly answering: Answering },
): Promise<{ readonly conclusion: Conclusion; readonly calls: number }> {
  const answers = new Map<string, StageAnswer>();
  for (;;) {
    const next = advanceReview(material, rules, answers);
    if (next.kind === 'done') return { conclusion: next.conclusion, calls: answers.size };
    for (const call of next.calls) answers.set(keyOf(call), await answering({ pull, call, review: { material, rules, answers } }));
  }
}

interface HeadText {
  readonly text: string;
  readonly ledger: readonly LedgerFinding[];
}

function materialOf(pull: CorpusPull, { templates }: ReviewRules, { text, ledger }: HeadText): ReviewMaterial {
  const files = patchesOf(pull, text);
  const { hunks } = surfaceOf({ files, mergeBaseSha: 'base', baseRef: 'main', playbookRevisionId: 'p', isFull: true }, null);
  const readings = readPaths({ paths: files.map(({ path }) => path), lists: [templates.path_filters] });
  const { read } = selectFiles(
    files.map((patch, at) => ({
      patch,
      hunks: hunks.get(patch.path) ?? [],
      reading: readings[at] ?? { taken: [], languages: [], kind: 'unknown' },
    })),
    { ...templates, maxFiles: 500, maxPatchTokens: 200_000, isTaken: () => true, countTokens },
  );
  const patches = new Map(files.map((file) => [file.path, file]));
  const shown = read.map((file) => ({
    ...file,
    passes: templates.review.passes.map((_pass, at) => at),
    pathRules: [],
    languageRules: [],
    around: linesAround(text, file.hunks),
  }));
  return {
    repoFullName: 'corpus/review',
    pull: { number: 1, author: 'ada', headRef: pull.id, baseRef: 'main', isFork: false, title: pull.title, description: '' },
    headSha: '0'.repeat(40),
    baseSha: null,
    mergeBaseSha: null,
    mode: 'full',
    skipReason: null,
    isSummaryOnly: false,
    instructions: '',
    question: '',
    thread: '',
    files: shown,
    batches: batchesOf(shown, templates.review.passes.length),
    changedFiles: files.length,
    unread: [],
    hashes: {},
    hashesBefore: {},
    ledger,
    followUps: Object.fromEntries(ledger.map((finding) => [finding.id, followUp(finding, { patches, textOf: () => text })])),
  };
}

const known = new Map<string, ReturnType<typeof readPatch>>();

/** The patch as git itself prints it. */
function patchesOf(pull: CorpusPull, text: string): ReturnType<typeof readPatch> {
  const key = `${pull.id}\n${text}`;
  const patches = known.get(key) ?? readPatch({ bytes: diffOf([[pathOf(pull), sourceText(pull.source)]], [[pathOf(pull), text]]) });
  known.set(key, patches);
  return patches;
}

/** What `git diff` prints between two folders of files. */
export function diffOf(
  before: readonly (readonly [path: string, text: string])[],
  after: readonly (readonly [path: string, text: string])[],
): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'longhaul-corpus-'));
  const git = (...args: readonly string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], {
      cwd: folder,
      maxBuffer: 1 << 28,
      env: { PATH: process.env['PATH'], GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' },
    });
  const commit = (files: typeof before) => {
    for (const [path, text] of files) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    git('add', '-A');
    git('commit', '-q', '--allow-empty', '-m', 'x');
  };
  try {
    git('init', '-q');
    commit(before);
    commit(after);
    return git('diff', '--no-color', '--no-ext-diff', '-M', 'HEAD~1', 'HEAD');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function ledgerFinding(finding: PlacedFinding): LedgerFinding {
  const { fingerprint, path, side, category, ruleId, severity, evidence, confidence, title, scenario, anchor, saidLine } = finding;
  const [startLine, endLine] = [anchor?.startLine ?? saidLine, anchor?.line ?? saidLine];
  return {
    id: fingerprint,
    state: 'open',
    fingerprint,
    path,
    side: anchor?.side ?? side,
    category,
    ruleId,
    severity,
    evidence,
    startLine,
    endLine,
    confidence,
    title,
    scenario,
  };
}
