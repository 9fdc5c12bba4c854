import { createDatasetReader } from '../../ports/evaluations/dataset-reader.ts';
import { areaDependency } from '../http/operation/area-dependency.ts';
import type { Deps } from '../http/operation/deps.ts';

/** Reads data sets that tenants send, in child processes. */
export const datasetReaderOf = areaDependency(({ work }: Pick<Deps, 'work'>) => createDatasetReader(work));
