import { createSkillReader } from '../../ports/skills/reader.ts';
import { areaDependency } from '../http/operation/area-dependency.ts';
import type { Deps } from '../http/operation/deps.ts';

/** Reads bundles and markdown that tenants send, in child processes. */
export const skillReaderOf = areaDependency(({ work }: Pick<Deps, 'work'>) => createSkillReader(work));
