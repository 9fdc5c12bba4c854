import { processEnvironment } from './env.ts';
import { openApiDocument } from './http/openapi/openapi.ts';
import { checkRegistry } from './http/operation/registry.ts';
import { areas } from './operations.ts';

// The document depends on the list of operations alone, so no service is needed.
checkRegistry(areas);
const publicUrl = processEnvironment()['PUBLIC_URL'] ?? 'https://longhaul.test';
process.stdout.write(`${JSON.stringify(openApiDocument(areas, { publicUrl, audience: 'all' }), null, 2)}\n`);
