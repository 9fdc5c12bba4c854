import { areaNames } from './area-names.ts';
import type { Area } from './operation.ts';
import { isForOperators, liveOperations } from './registry.ts';

/** The public reference as plain text (llmstxt.org): one line an operation. */
export function llmsText(areas: readonly Area[], publicUrl: string): string {
  const operations = liveOperations(areas).filter((operation) => !isForOperators(operation));
  const parts = areaNames.flatMap((name) => {
    const own = operations.filter((operation) => operation.area === name);
    if (own.length === 0) return [];
    return [
      `## ${name}`,
      own.map((operation) => `- ${operation.method} ${operation.path} – ${operation.summary} (${operation.access})`).join('\n'),
    ];
  });
  const head = [
    '# Longhaul',
    '> Multi-tenant agent platform: durable runs, replayable streams, isolated tenants, behind one HTTP API.',
    `The machine-readable contract is ${publicUrl}/openapi.json. Send \`Authorization: Bearer\` with an access token or a service key. After each operation stands the lowest role that may call it.`,
  ];
  return `${[...head, ...parts].join('\n\n')}\n`;
}
