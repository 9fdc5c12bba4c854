import { Decimal } from 'decimal.js';
import type { PinnedPrice, PriceBucket } from '../../../db/billing/prices/prices.ts';
import { FileBytes, type PromptMessage } from './prompt.ts';
import type { ModelStepRequest } from '../step.ts';

/**
 * Returns the most that a call may cost, by the prices at its start: all input at the highest input price (three bytes a token, at most what the model can
 * read), the longest answer it may give, and the call itself. Decimal, rounded up to 9 places.
 */
export function estimateCost(request: ModelStepRequest, prices: readonly PinnedPrice[]): string {
  const dearest = (...buckets: PriceBucket[]) =>
    Decimal.max(0, ...prices.filter(({ bucket }) => buckets.includes(bucket)).map(({ price }) => price));
  const { model } = request;
  const input = Math.min(Math.ceil(bytesOf(request) / 3), model.contextWindow);
  // A model without a stated maximum may answer until its window is full.
  const output = request.maxOutputTokens ?? model.maxOutputTokens ?? model.contextWindow;
  return dearest('input', 'cached_read', 'cached_write')
    .times(input)
    .plus(dearest('output', 'reasoning').times(output))
    .dividedBy(1_000_000)
    .plus(dearest('call'))
    .toDecimalPlaces(9, Decimal.ROUND_UP)
    .toFixed(9);
}

function bytesOf({ instructions, tools, messages, json }: ModelStepRequest): number {
  // In the other modes the schema is in a tool or in the instructions.
  const answer = json?.mode === 'native' && json.schema !== null ? { schema: json.schema } : {};
  return (
    Buffer.byteLength(JSON.stringify({ instructions, tools, messages, ...answer })) +
    messages.reduce((sum, message) => sum + fileBytes(message), 0)
  );
}

/** Bytes that the request's JSON text does not contain. */
function fileBytes(message: PromptMessage): number {
  if (message.role !== 'user') return 0;
  return message.content.reduce(
    (sum, block) => sum + (block.type === 'file' && block.data instanceof FileBytes ? block.data.bytes.length : 0),
    0,
  );
}
