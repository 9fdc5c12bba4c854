import type { Played } from './play.ts';

/** How well a corpus was reviewed. Shares are 0 to 1. */
export interface CorpusScore {
  readonly planted: number;
  readonly clean: number;
  readonly precision: number;
  readonly recall: number;
  readonly f1: number;
  /** Findings told of, by comment or in the summary, a pull request with a fault; and a clean one. */
  readonly perPlanted: number;
  readonly perClean: number;
  /** Of the faults that were found and then repaired, those that the ledger says are fixed. */
  readonly addressed: number;
  readonly calls: number;
}

/** Scores reviews: one finding that tells of the planted fault is right, everything else that was told is noise, a second one on the same fault too. */
export function scoreOf(played: readonly Played[]): CorpusScore {
  const planted = played.filter(({ pull }) => pull.fault !== null);
  const clean = played.filter(({ pull }) => pull.fault === null);
  const told = planted.reduce((sum, { conclusion }) => sum + conclusion.findings.length, 0);
  const noise = clean.reduce((sum, { conclusion }) => sum + conclusion.findings.length, 0);
  const found = planted.filter(({ isAddressed }) => isAddressed !== null).length;
  const addressed = planted.filter(({ isAddressed }) => isAddressed === true).length;
  const precision = told + noise === 0 ? 1 : found / (told + noise);
  const recall = found / Math.max(1, planted.length);
  return {
    planted: planted.length,
    clean: clean.length,
    precision,
    recall,
    f1: precision + recall === 0 ? 0 : (2 * precision * recall) / (precision + recall),
    perPlanted: told / Math.max(1, planted.length),
    perClean: noise / Math.max(1, clean.length),
    addressed: found === 0 ? 0 : addressed / found,
    calls: played.reduce((sum, { calls }) => sum + calls, 0),
  };
}
