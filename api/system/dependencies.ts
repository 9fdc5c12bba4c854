import { areaDependency } from '../http/operation/area-dependency.ts';
import { createHealth } from './health.ts';

/** Its checks are shared by all who ask within a second. */
export const healthOf = areaDependency(createHealth);
