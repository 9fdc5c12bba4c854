import { createHash } from 'node:crypto';
import type { ReviewVerdict } from '../../../workflows/contracts/review/code-review.ts';
import { codeSpan, cutBody, titleOf } from './comment-text.ts';
import type { PlacedFinding } from './finding.ts';
import { outputText } from './text-safety.ts';

/** The contents of a review's summary. */
export interface SummaryFacts {
  readonly verdict: ReviewVerdict;
  /** The model's overview of the change; empty: none. */
  readonly overview: string;
  /** New findings of this review, ranked. */
  readonly findings: readonly PlacedFinding[];
  /** Open findings of earlier reviews. */
  readonly carried: number;
  readonly fixed: number;
  readonly unread: readonly { readonly path: string; readonly reason: string }[];
  readonly headSha: string;
  /** Which sections, in which order. */
  readonly sections: readonly string[];
}

const maxUnread = 50;

/** The summary in Markdown, within the host's limit, without markers. Unknown sections are ignored. */
export function summaryText(facts: SummaryFacts): string {
  const sections = facts.sections.length === 0 ? ['overview', 'findings', 'unread'] : facts.sections;
  const parts = [headline(facts), ...sections.map((section) => sectionText(section, facts))];
  return cutBody(parts.filter((part) => part !== '').join('\n\n'));
}

/** Digest of a summary for detecting changes, without white space, case, markers and shas. */
export function summaryDigest(text: string): string {
  const normal = text
    .replaceAll(/<!--[\s\S]*?-->/gu, '')
    .replaceAll(/\b[0-9a-f]{7,64}\b/gu, '')
    .replaceAll(/\s+/gu, ' ')
    .trim()
    .toLowerCase();
  return createHash('sha256').update(normal).digest('hex');
}

function headline({ verdict, findings, carried, headSha }: SummaryFacts): string {
  const open = findings.length + carried;
  const head = codeSpan(headSha.slice(0, 10));
  switch (verdict) {
    case 'clean':
      return `**No open findings** at ${head}.`;
    case 'findings':
      return `**${count(open, 'open finding')}** at ${head}.`;
    case 'partial':
      return `**${count(open, 'open finding')}** at ${head}. Not everything was read: see below.`;
    case 'skipped':
      return `**Not reviewed** at ${head}.`;
    default:
      return verdict satisfies never;
  }
}

function sectionText(section: string, facts: SummaryFacts): string {
  switch (section) {
    case 'overview':
      return outputText(facts.overview).trim();
    case 'findings':
      return findingsText(facts);
    case 'unread':
      return unreadText(facts.unread);
    default:
      return '';
  }
}

function findingsText({ findings, carried, fixed }: SummaryFacts): string {
  const folded = findings.filter(({ placement }) => placement === 'summary');
  const commented = findings.length - folded.length;
  const counts = [
    ...(commented > 0 ? [`${commented} commented on below`] : []),
    ...(carried > 0 ? [`${carried} open from earlier reviews`] : []),
    ...(fixed > 0 ? [`${fixed} fixed`] : []),
  ];
  const lines = folded.map((finding) => `- ${titleOf(finding)} (${whereOf(finding)})\n  ${finding.scenario.replaceAll(/\s*\n\s*/gu, ' ')}`);
  return [counts.length === 0 ? '' : `${counts.join(', ')}.`, lines.join('\n')].filter((part) => part !== '').join('\n\n');
}

function whereOf({ path, anchor, alsoAt }: PlacedFinding): string {
  const places = [{ path, line: anchor?.line ?? null }, ...alsoAt];
  return places.map((place) => `${codeSpan(place.path)}${place.line === null ? '' : ` line ${place.line}`}`).join(', ');
}

function unreadText(unread: SummaryFacts['unread']): string {
  if (unread.length === 0) return '';
  const shown = unread.slice(0, maxUnread).map(({ path, reason }) => `- ${codeSpan(path)} (${reason.replaceAll('_', ' ')})`);
  const rest = unread.length > maxUnread ? [`- and ${unread.length - maxUnread} more`] : [];
  return `<details><summary>${count(unread.length, 'file')} not read</summary>\n\n${[...shown, ...rest].join('\n')}\n\n</details>`;
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}
