import { areaMeanings, areaNames } from './area-names.ts';
import { introduction } from './text.ts';
import { documentHeaders, documentParameters, onlyUsed } from './components.ts';
import { documentOperation, sharedFailures } from './operation.ts';
import { createCollector, type Json } from './schemas.ts';
import { answersOauthClients } from '../credentials/oauth-failure.ts';
import { failureExamples } from './failure-examples.ts';
import type { Area, RegisteredOperation } from '../operation/operation.ts';
import { isForOperators, liveOperations } from '../operation/registry.ts';

export const contractVersion = '0.1.0';

export interface OpenApiDocument {
  readonly openapi: string;
  readonly info: Json;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Json>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Json>> } & Json;
  readonly [part: string]: unknown;
}

/** The OpenAPI 3.1 document of the live operations; `public` leaves out what only operators may call. Depends on nothing but its arguments. */
export function openApiDocument(areas: readonly Area[], options: { publicUrl: string; audience: 'all' | 'public' }): OpenApiDocument {
  const operations = liveOperations(areas).filter((operation) => options.audience === 'all' || !isForOperators(operation));
  const collector = createCollector();
  const paths = documentPaths(operations, (operation) =>
    documentOperation(operation, collector, { publicUrl: options.publicUrl, isForOperators: isForOperators(operation) }),
  );
  const failures = sharedFailures(collector);
  const referring = JSON.stringify([paths, failures]);
  const examples = failureExamples(options.publicUrl, operations.find(answersOauthClients) ?? null);

  return {
    openapi: '3.1.0',
    jsonSchemaDialect: 'https://json-schema.org/draft/2020-12/schema',
    info: {
      title: 'Longhaul',
      version: contractVersion,
      summary: 'Durable agent runs behind one HTTP API',
      description: introduction(options.publicUrl),
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      contact: { name: 'Operator of this deployment', url: options.publicUrl },
    },
    servers: [{ 'url': options.publicUrl, 'description': 'This deployment, for both production and testing', 'x-internal': false }],
    tags: areaNames
      .filter((name) => operations.some((operation) => operation.area === name))
      .map((name) => ({ name, description: areaMeanings[name] })),
    security: [{ bearer: [] }, { apiKey: [] }],
    paths,
    components: {
      schemas: collector.components(),
      responses: onlyUsed('responses', failures, referring),
      examples: onlyUsed('examples', examples, referring),
      parameters: onlyUsed('parameters', documentParameters(), referring),
      headers: onlyUsed('headers', documentHeaders(), referring),
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'JWT',
          description: 'Access token of a session, verified according to RFC8725 and sent according to RFC6750; or a service key',
        },
        apiKey: { type: 'apiKey', in: 'header', name: 'X-Api-Key', description: 'Service key' },
      },
    },
  };
}

function documentPaths(
  operations: readonly RegisteredOperation[],
  toDocument: (operation: RegisteredOperation) => Json,
): Record<string, Record<string, Json>> {
  const paths: Record<string, Record<string, Json>> = {};
  for (const operation of operations) {
    const item = (paths[operation.path] ??= {});
    item[operation.method.toLowerCase()] = toDocument(operation);
  }
  return paths;
}
