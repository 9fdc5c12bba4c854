import type { CorpusPull } from './corpus.ts';
import { plantedInOthers } from './planted-native.ts';
import { plantedInScripts } from './planted-script.ts';

/** Forty pull requests with a fault each, of nine categories' kinds, in TypeScript, JavaScript, C++, Rust, Go and Python. */
export const plantedPulls: readonly CorpusPull[] = [...plantedInScripts, ...plantedInOthers].map((pull, at) => ({
  id: `planted-${String(at + 1).padStart(2, '0')}`,
  ...pull,
}));
