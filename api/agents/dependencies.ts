import { createLineComparison } from '../../ports/diff/compare-lines.ts';
import { areaDependency } from '../http/operation/area-dependency.ts';
import type { Deps } from '../http/operation/deps.ts';

/** Compares instructions line by line, in child processes. */
export const lineComparisonOf = areaDependency(({ work }: Pick<Deps, 'work'>) => createLineComparison(work));
