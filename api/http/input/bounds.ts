import { invalid } from '../../../workflows/contracts/failure.ts';

/** 422 when the JSON of an open object is over its bound; absent and null fit. For bounds below those of every FreeObject. */
export function checkBytes(pointer: string, value: unknown, maxBytes: number): void {
  if (value === undefined || value === null) return;
  if (Buffer.byteLength(JSON.stringify(value)) > maxBytes)
    throw invalid(pointer, 'maxLength', `must be at most ${maxBytes} bytes of JSON`, { limit: maxBytes });
}

/** 422 when an open object has more keys than it may. */
export function checkKeys(pointer: string, value: Readonly<Record<string, unknown>> | undefined, limit: number): void {
  if (value && Object.keys(value).length > limit) throw invalid(pointer, 'maxProperties', `must have at most ${limit} keys`, { limit });
}

/** The size allowance of a form besides its file: part headers, fields and boundaries. */
export const formOverheadBytes = 65_536;
