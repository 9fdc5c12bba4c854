import { createDatasetReader } from '../../ports/dataset-reader.ts';
import { areaDependency } from '../http/area-dependency.ts';
import type { Deps } from '../http/deps.ts';

/** Reads data sets that tenants send, in child processes. */
export const datasetReaderOf = areaDependency(({ work }: Pick<Deps, 'work'>) => createDatasetReader(work));
