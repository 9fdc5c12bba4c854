import { createLineComparison } from '../../ports/compare-lines.ts';
import { areaDependency } from '../http/area-dependency.ts';
import type { Deps } from '../http/deps.ts';

/** Compares instructions line by line, in child processes. */
export const lineComparisonOf = areaDependency(({ work }: Pick<Deps, 'work'>) => createLineComparison(work));
