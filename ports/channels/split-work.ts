import type { ChannelKind } from '../../workflows/contracts/triggers/channels.ts';
import { partLimits } from './limits.ts';
import { cutPlain, splitMarkdown } from './split.ts';

export interface SplitJob {
  readonly kind: ChannelKind;
  readonly markdown: string;
  /** True: nothing is read as Markdown. */
  readonly isPlain?: boolean;
}

/** A part as it is written, and as its service accepts it. */
export interface SplitPart {
  readonly text: string;
  readonly rendered: string;
  readonly isPlain: boolean;
}

/** Splits a model's answer into parts for a service. Runs in a child of the pool. */
export function work({ kind, markdown, isPlain = false }: SplitJob): SplitPart[] {
  const fit = partLimits[kind];
  if (isPlain) return cutPlain(markdown, fit.limit).map((text) => ({ text, rendered: text, isPlain }));
  return splitMarkdown(markdown, fit).map((text) => ({ text, rendered: fit.render(text), isPlain }));
}
