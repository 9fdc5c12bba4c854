import type { FilePatch, Hunk } from '../../../ports/diff/patch.ts';
import type { PathReading } from '../../../ports/diff/paths-work.ts';
import type { GeneratedKind } from '../../../workflows/contracts/review/code-review.ts';

/** Why a file of the change is not read. `filtered` by a list of paths; `limit`: others were riskier. */
export type UnreadReason = 'filtered' | 'generated' | 'binary' | 'submodule' | 'lfs' | 'long_lines' | 'limit' | 'budget' | 'model';

/** A file with hunks on the surface. */
export interface FileToRead {
  readonly patch: FilePatch;
  readonly hunks: readonly Hunk[];
  readonly reading: PathReading;
}

/** The files that are read, and for the others the reason why not. */
export interface Selection {
  readonly read: readonly FileToRead[];
  readonly unread: readonly { readonly path: string; readonly reason: UnreadReason }[];
}

export interface SelectionRules {
  readonly generated: readonly GeneratedKind[];
  readonly maxFiles: number;
  readonly maxPatchTokens: number;
  /** Whether the lists of paths include the file. */
  readonly isTaken: (path: string) => boolean;
  readonly countTokens: (text: string) => number;
}

/**
 * Selects the files to read: those that the lists include and that people wrote, riskiest first as far as the limits allow. Files without hunks have nothing to
 * read.
 */
export function selectFiles(files: readonly FileToRead[], rules: SelectionRules): Selection {
  const unread: { path: string; reason: UnreadReason }[] = [];
  const candidates: FileToRead[] = [];
  for (const file of files) {
    const reason = reasonNotToRead(file, rules);
    if (reason !== null) unread.push({ path: file.patch.path, reason });
    else if (file.hunks.length > 0) candidates.push(file);
  }

  const read: FileToRead[] = [];
  let tokens = 0;
  for (const file of candidates.toSorted(byRisk)) {
    const cost = rules.countTokens(textOf(file.hunks));
    if (read.length < rules.maxFiles && tokens + cost <= rules.maxPatchTokens) {
      tokens += cost;
      read.push(file);
    } else unread.push({ path: file.patch.path, reason: 'limit' });
  }
  return { read: read.toSorted((a, b) => (a.patch.path < b.patch.path ? -1 : 1)), unread };
}

function reasonNotToRead({ patch, hunks }: FileToRead, rules: SelectionRules): UnreadReason | null {
  if (!rules.isTaken(patch.path)) return 'filtered';
  if (patch.oldMode === '160000' || patch.newMode === '160000') return 'submodule';
  if (patch.binary) return 'binary';
  if (isGenerated(patch, rules.generated)) return 'generated';
  if (hunks.some(isLfsPointer)) return 'lfs';
  return hunks.some(({ lines }) => lines.some(({ text }) => text.length > maxLine)) ? 'long_lines' : null;
}

/** People neither read nor write lines of this length. */
const maxLine = 4_000;

/** https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md: the first line of a pointer. */
function isLfsPointer({ lines }: Hunk): boolean {
  return lines.some(({ text }) => text.startsWith('version https://git-lfs.github.com/spec/'));
}

function isGenerated({ path, hunks }: FilePatch, kinds: readonly GeneratedKind[]): boolean {
  if (kinds.some((kind) => generatedPaths[kind].test(path))) return true;
  const head = hunks[0]?.newStart === 1 ? hunks[0].lines.slice(0, 10) : [];
  return head.some(({ kind, text }) => kind !== 'removed' && generatedMark.test(text)) && kinds.length > 0;
}

const generatedPaths: Readonly<Record<GeneratedKind, RegExp>> = {
  protobuf: /(?:\.pb\.(?:go|cc|h|c|rs|swift|dart)|_pb2(?:_grpc)?\.pyi?|_pb\.(?:js|ts|d\.ts|rb)|\.pbobjc\.[hm]|Grpc\.(?:cs|java))$/u,
  openapi: /(?:^|\/)(?:openapi-generated|\.openapi-generator)\/|\.(?:openapi|swagger)\.gen\.\w+$/u,
  graphql: /(?:^|\/)__generated__\/|\.(?:generated|gen)\.(?:ts|tsx|graphql)$/u,
  lockfiles:
    /(?:^|\/)(?:package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lockb?|Cargo\.lock|Gemfile\.lock|poetry\.lock|uv\.lock|Pipfile\.lock|composer\.lock|go\.sum|mix\.lock|Podfile\.lock|pubspec\.lock|flake\.lock|packages\.lock\.json)$/u,
};
/** https://pkg.go.dev/cmd/go#hdr-Generate_Go_files_by_processing_source, and the `@generated` of others. */
const generatedMark = /^\s*\/\/ Code generated .* DO NOT EDIT\.$|@generated\b/u;

function byRisk(a: FileToRead, b: FileToRead): number {
  return riskOf(b) - riskOf(a) || changedLines(b.hunks) - changedLines(a.hunks) || (a.patch.path < b.patch.path ? -1 : 1);
}

/** Programs before configuration, configuration before markup, then tests, then data and prose. */
function riskOf({ patch, reading }: FileToRead): number {
  const isTest = /(?:^|\/)(?:tests?|specs?|__tests__|testdata|fixtures?)\/|[._-](?:test|spec)s?\.\w+$/iu.test(patch.path);
  if (isTest) return 2;
  if (reading.kind === 'programming') return 5;
  if (/(?:^|\/)\.github\/|Dockerfile|\.(?:ya?ml|toml|tf|env|ini|conf)$/iu.test(patch.path)) return 4;
  if (reading.kind === 'markup') return 3;
  return reading.kind === 'prose' ? 0 : 1;
}

function changedLines(hunks: readonly Hunk[]): number {
  return hunks.reduce((sum, { lines }) => sum + lines.filter(({ kind }) => kind !== 'context').length, 0);
}

function textOf(hunks: readonly Hunk[]): string {
  return hunks.flatMap(({ lines }) => lines.map(({ text }) => text)).join('\n');
}
