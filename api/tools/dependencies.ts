import { createOpenApiReader } from '../../ports/openapi/reader.ts';
import { areaDependency } from '../http/operation/area-dependency.ts';
import type { Deps } from '../http/operation/deps.ts';

/** Reads OpenAPI documents that tenants send, in child processes. */
export const openApiReaderOf = areaDependency(({ work }: Pick<Deps, 'work'>) => createOpenApiReader(work));
