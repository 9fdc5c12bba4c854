import type { TestedTool } from '../../../db/tools/tool-tests.ts';
import type { ToolTestResult } from '../../../db/tools/tool-test.entity.ts';
import { cleanText } from '../../model/wire/plain-text.ts';
import type { HttpRequest } from '../http/http-request.ts';
import type { ToolOutcome } from './outcome.ts';
import { capOutput } from './output.ts';

export interface TestOutcome {
  readonly outcome: ToolOutcome;
  readonly request: HttpRequest | { readonly outcome: ToolOutcome } | null;
  readonly durationMs: number;
}

const withoutOutput = { output: null, output_type: 'text', truncated: false, total_chars: 0 } as const;

/** Returns what the author of a tool sees, truncated as for a model. `tool` is null when nothing was executed. */
export function resultOfTest(tool: TestedTool | null, { outcome, request, durationMs }: TestOutcome): ToolTestResult {
  // A request that can't be rendered is the result, also when nothing would have been sent.
  const told = request !== null && 'outcome' in request ? request.outcome : outcome;
  const shown = request === null || 'outcome' in request ? null : { method: request.method, url: request.url, headers: request.headers };
  const common = { request: shown, duration_ms: durationMs };
  if (told.status !== 'succeeded') {
    const { code, message, retryable } = told.error;
    return { ...common, ...withoutOutput, status: told.status, error: { code, message: cleanText(message), retryable } };
  }
  const capped = capOutput(told.type === 'files' ? listed(told) : told, tool?.responseMaxChars ?? 20_000);
  return {
    ...common,
    status: 'succeeded',
    output: capped.output === '' ? null : capped.output,
    output_type: capped.type,
    truncated: capped.truncated,
    total_chars: capped.totalChars,
    error: null,
  };
}

/** Files of a test are listed but not stored: there is no run that they could belong to. */
function listed({ files, text }: Extract<ToolOutcome, { readonly type: 'files' }>): Extract<ToolOutcome, { readonly type: 'json' }> {
  const found = files.map(({ name, mediaType, bytes }) => ({ name, media_type: mediaType, size_bytes: bytes.length }));
  return { status: 'succeeded', type: 'json', value: { text, files: found } };
}
