/** What one folder may import of ours, and which packages it may not. Paths are prefixes from the root of the project. */
export interface ImportRule {
  /** Files whose path starts so; the longest prefix that fits decides. `*` stands for one folder. */
  readonly from: string;
  readonly may: readonly string[];
  /** Only as `import type`. */
  readonly mayAsType?: readonly string[];
  readonly packages?: 'any' | { readonly only?: readonly string[]; readonly not?: readonly string[] };
}

const withoutTemporal = { not: ['@temporalio/', 'ioredis'] };

/** What each folder may import. `api/<area>` reaches no other area, `api/http` none at all. */
export const importRules: readonly ImportRule[] = [
  { from: 'api/', may: ['api/', 'db/', 'domain/', 'ports/', 'temporal/', 'workflows/contracts/'], packages: 'any' },
  {
    from: 'api/*/',
    may: ['api/http/', 'api/streams/', 'db/', 'domain/', 'ports/', 'workflows/contracts/'],
    mayAsType: ['api/env.ts'],
    packages: withoutTemporal,
  },
  {
    from: 'api/http/',
    may: [
      'api/http/',
      'db/scope.ts',
      'db/caller-scope.ts',
      'db/transaction.ts',
      'db/databases.ts',
      'db/outbox',
      'db/audit/',
      'db/http/',
      'db/identity/',
      'db/tenancy/',
      'db/envelope.ts',
      'db/key-ring.ts',
      'db/errors.ts',
      'db/sql.ts',
      'db/caller.ts',
      'db/page.ts',
      'db/tenant-transaction.ts',
      'domain/audit/',
      'domain/http/',
      'domain/identity/',
      'ports/request-text.ts',
      'ports/telemetry/',
      'workflows/contracts/',
    ],
    mayAsType: ['api/env.ts', 'api/streams/', 'db/toolkits/toolkits.ts', 'ports/', 'ioredis'],
    packages: { not: ['@temporalio/'] },
  },
  {
    from: 'api/streams/',
    may: ['api/streams/', 'api/http/', 'db/', 'domain/identity/', 'workflows/contracts/'],
    packages: { not: ['@temporalio/'] },
  },
  {
    from: 'workflows/',
    may: ['workflows/'],
    mayAsType: ['activities/'],
    packages: { only: ['@temporalio/workflow', '@temporalio/common'] },
  },
  { from: 'workflows/contracts/', may: ['workflows/contracts/'], packages: { only: ['typebox'] } },
  { from: 'activities/', may: ['activities/', 'db/', 'domain/', 'ports/', 'workflows/contracts/', 'temporal/'], packages: 'any' },
  {
    from: 'workers/',
    may: ['workers/', 'activities/', 'workflows/index.ts', 'workflows/contracts/', 'temporal/', 'ports/', 'db/', 'domain/streams/'],
    packages: 'any',
  },
  {
    from: 'temporal/',
    may: ['temporal/', 'workflows/contracts/', 'db/', 'domain/runs/', 'ports/telemetry/'],
    mayAsType: ['ports/temporal-gateway.ts'],
    packages: 'any',
  },
  { from: 'ports/', may: ['ports/', 'workflows/contracts/'], packages: 'any' },
  {
    from: 'domain/',
    may: [
      'domain/',
      'db/',
      'workflows/contracts/',
      'ports/github/app-key.ts',
      'ports/egress/url.ts',
      'ports/egress/errors.ts',
      'ports/templates/templates.ts',
      'ports/schedule/cadence.ts',
      'ports/schedule/plan.ts',
      'ports/schedule/texts.ts',
      'ports/schedule/wall-time.ts',
      'ports/deadline.ts',
      'ports/chunking/lex.ts',
      'ports/chunking/lex-languages.ts',
      'ports/chunking/chunks.ts',
      'ports/models/token-count.ts',
      'ports/content-hash.ts',
      'ports/diff/',
      'ports/embeddings/errors.ts',
      'ports/embeddings/query.ts',
      'ports/parsing/text/injection.ts',
    ],
    mayAsType: ['ports/'],
    packages: { not: ['@temporalio/', 'ioredis', 'fastify', '@fastify/'] },
  },
  {
    from: 'db/',
    may: ['db/', 'workflows/contracts/', 'ports/telemetry/origin.ts'],
    packages: { not: ['@temporalio/', 'fastify', '@fastify/'] },
  },
  { from: 'cli/', may: [''], packages: 'any' },
  { from: 'bench/', may: [''], packages: 'any' },
  { from: 'clients/generate/', may: ['clients/generate/'], packages: { only: [] } },
  { from: 'clients/typescript/src/', may: ['clients/typescript/src/'], packages: { only: [] } },
  { from: 'examples/', may: ['examples/', 'clients/typescript/src/index.ts'], packages: { only: [] } },
];
