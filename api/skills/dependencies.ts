import { createSkillReader } from '../../ports/skill-reader.ts';
import { areaDependency } from '../http/area-dependency.ts';
import type { Deps } from '../http/deps.ts';

/** Reads bundles and markdown that tenants send, in child processes. */
export const skillReaderOf = areaDependency(({ work }: Pick<Deps, 'work'>) => createSkillReader(work));
