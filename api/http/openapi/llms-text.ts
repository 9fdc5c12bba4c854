import { areaMeanings, areaNames } from './area-names.ts';
import type { Area } from '../operation/operation.ts';
import { isForOperators, liveOperations } from '../operation/registry.ts';

/** The public reference as plain text (llmstxt.org): how to begin, then one line an operation. */
export function llmsText(areas: readonly Area[], publicUrl: string): string {
  const operations = liveOperations(areas).filter((operation) => !isForOperators(operation));
  const parts = areaNames.flatMap((name) => {
    const own = operations.filter((operation) => operation.area === name);
    if (own.length === 0) return [];
    return [
      `## ${name}`,
      areaMeanings[name],
      own.map((operation) => `- ${operation.method} ${operation.path} – ${operation.summary} (${operation.access})`).join('\n'),
    ];
  });
  const head = [
    '# Longhaul',
    '> Multi-tenant agent platform: durable runs, replayable streams, isolated tenants, behind one HTTP API.',
    ...beginning(publicUrl),
    `The machine-readable contract is ${publicUrl}/openapi.json (about 2 MB), with schemas, examples and code samples; \`curl -sS ${publicUrl}/openapi.json | jq '.paths["/runs"].post'\` shows one operation of it. The lowest role that can call an operation is given in parentheses after it.`,
  ];
  return `${[...head, ...parts].join('\n\n')}\n`;
}

/** What nearly every user does first, in order. */
function beginning(publicUrl: string): string[] {
  return [
    '## Getting started',
    `Every request carries \`Authorization: Bearer\` with a service key or an access token (from POST /auth/login). Bodies are JSON. Replace $KEY and the ids below with your own. \`guide\` is the first agent of a new deployment; GET /agents lists yours.`,
    '### Start a run',
    code([
      `curl -sS ${publicUrl}/runs -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \\`,
      `  -H "Idempotency-Key: $(openssl rand -hex 16)" -d '{"agent_slug":"guide","input":{"text":"What is new?"},"session_key":"chat-42"}'`,
    ]),
    'The reply is 202 with the run; its `id` is $RUN_ID below. Runs of one `session_key` follow each other and share their history. With `"mode":"wait"`, the reply is sent when the run has ended or is waiting for someone, after at most 60 s. Repeating a request with the same `Idempotency-Key` is safe.',
    '### Stream it',
    code([`curl -sSN ${publicUrl}/runs/$RUN_ID/stream -H "Authorization: Bearer $KEY"`]),
    `Server-sent events, numbered from 1 without gaps: \`message.delta\` is text as it is written, \`approval.requested\` a question, \`run.finished\` the end with status and output. After a disconnect, resume with \`Last-Event-ID: <last id seen>\`. Every frame: ${publicUrl}/stream-protocol. Without a stream: GET /runs/{run_id}/wait.`,
    '### Approve what it asks',
    code([
      `curl -sS "${publicUrl}/runs/$RUN_ID/approvals?status=pending" -H "Authorization: Bearer $KEY"`,
      `curl -sS ${publicUrl}/runs/$RUN_ID/approvals -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \\`,
      `  -d '{"resolutions":[{"approval_id":"'$APPROVAL_ID'","decision":"approve"}]}'`,
    ]),
    'A run with status `waiting` and waiting_on `approval` continues once its questions are answered: approve, reject (with a comment for the agent), edit (with edited_args) or respond (with response), as `decisions` of the question allows. Status `waiting` on `client_tool` wants tool results at POST /runs/{run_id}/input.',
    '### Page through a list',
    code([`curl -sS "${publicUrl}/runs?limit=50&cursor=$NEXT_CURSOR" -H "Authorization: Bearer $KEY"`]),
    'Lists return `items` and `next_cursor`; send `next_cursor` back as `cursor`, with the same filters, until it is null. With `offset` instead, the reply contains a `total`.',
    '### When it fails',
    `Errors are RFC 9457 problems with \`code\`, \`detail\`, \`retryable\` and \`errors\` by JSON pointer. \`retryable\` true: the same request again after \`Retry-After\`. All 38 codes with what to do: ${publicUrl}/error-codes.`,
  ];
}

function code(lines: readonly string[]): string {
  return ['```sh', ...lines, '```'].join('\n');
}
