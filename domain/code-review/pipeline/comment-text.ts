import type { Candidate, PlacedFinding } from './finding.ts';
import { findingMarker } from './markers.ts';
import { outputLine, outputText } from './text-safety.ts';

/** The longest body, in characters, that GitHub accepts (65536), less a margin for markers. */
export const maxBody = 65_000;
const maxSuggestions = 5;

/** A comment as it is posted: on lines or on a file. */
export interface CommentText {
  readonly fingerprint: string;
  readonly path: string;
  readonly side: 'LEFT' | 'RIGHT';
  /** Null: on the file. */
  readonly lines: { readonly startLine: number; readonly line: number } | null;
  readonly body: string;
}

/** Returns the comments of a review: each ends with the marker of its finding; the first five with a self-contained repair offer it as a suggestion. */
export function commentsOf(findings: readonly PlacedFinding[], bindingId: string): CommentText[] {
  let suggestions = maxSuggestions;
  return findings.flatMap((finding): CommentText[] => {
    if (finding.placement !== 'inline' && finding.placement !== 'file') return [];
    const isOffered = finding.placement === 'inline' && finding.suggestion !== null && suggestions > 0;
    if (isOffered) suggestions -= 1;
    return [commentOf(finding, { bindingId, isOffered })];
  });
}

function commentOf(
  finding: PlacedFinding,
  { bindingId, isOffered }: { readonly bindingId: string; readonly isOffered: boolean },
): CommentText {
  const parts = [
    `**${titleOf(finding)}**`,
    finding.scenario,
    ...(isOffered && finding.suggestion !== null ? [fencedCode(finding.suggestion, 'suggestion')] : []),
    ...alsoAtText(finding),
  ];
  const lines =
    finding.placement === 'inline' && finding.anchor ? { startLine: finding.anchor.startLine, line: finding.anchor.line } : null;
  return {
    fingerprint: finding.fingerprint,
    path: finding.path,
    side: finding.anchor?.side ?? finding.side,
    lines,
    body: withMarker(parts.join('\n\n'), findingMarker(bindingId, finding.fingerprint)),
  };
}

/** Severity, category and title of a finding, in one line. */
export function titleOf({ severity, category, title }: Pick<Candidate, 'severity' | 'category' | 'title'>): string {
  return `${severity} · ${category.replaceAll('_', ' ')}: ${title.replaceAll('*', '\\*')}`;
}

/** The title at the start of one of our comments. */
export function titleLine(body: string): string {
  const [first = ''] = body.split('\n', 1);
  return first.replace(/^\*\*(.*)\*\*$/u, '$1');
}

/** A body with its marker at the end, within the host's limit; a truncated body says so. */
export function withMarker(body: string, marker: string): string {
  return `${cutBody(body, maxBody - marker.length - 2)}\n\n${marker}`;
}

/** Truncates a text to at most `max` characters; a truncated text says so, with its open fence closed. */
export function cutBody(body: string, max: number = maxBody): string {
  if (body.length <= max) return body;
  const kept = body.slice(0, max - cutNotice.length - maxFence * 2).toWellFormed();
  const fence = openFence(kept);
  return `${kept}${fence === null ? '' : `\n${fence}`}${cutNotice}`;
}

const cutNotice = '\n\n… (cut: the text was longer than a comment may be)';
const maxFence = 20;

function openFence(text: string): string | null {
  let open: string | null = null;
  for (const [, fence = ''] of text.matchAll(/^ {0,3}(`{3,19})/gmu)) {
    if (open === null) open = fence;
    else if (fence.length >= open.length) open = null;
  }
  return open;
}

/** Code in a fence that is longer than any run of back-ticks inside; with the language `suggestion` GitHub offers the code as a replacement of the lines. */
export function fencedCode(code: string, language = ''): string {
  const longest = Math.max(0, ...[...code.matchAll(/`+/gu)].map(([run]) => run.length));
  const fence = '`'.repeat(Math.max(3, longest + 1));
  return `${fence}${language}\n${code.replace(/\n$/u, '')}\n${fence}`;
}

function alsoAtText({ alsoAt }: Candidate): string[] {
  if (alsoAt.length === 0) return [];
  return [`Also at ${alsoAt.map(({ path, line }) => `${codeSpan(path)} line ${line}`).join(', ')}.`];
}

/** A path or another short text as a code span that its content can't end. */
export function codeSpan(text: string): string {
  return `\`${outputLine(text.replaceAll('`', "'"))}\``;
}

/** A model's answer to a question, as a reply. */
export function replyText(text: string): string {
  return cutBody(outputText(text).trim());
}
