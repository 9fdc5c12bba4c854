import { join } from 'node:path';

/** Something that a watched process did, in the order in which it did it; `answer` is the end of an HTTP response. */
export interface ProbeEvent {
  readonly kind: 'sql' | 'redis' | 'temporal' | 'answer';
  readonly text: string;
  readonly params: readonly unknown[];
  /** Of a Redis command: no other was on its way, so it began a round trip. Of a statement: the first of those that left together. */
  readonly isRoundTrip?: boolean;
}

export function socketPath(folder: string, pid: number): string {
  return join(folder, `${pid}.sock`);
}

/** JSON parser's reviver that brings byte strings back. */
export function revive(_key: string, value: unknown): unknown {
  const isBytes =
    typeof value === 'object' &&
    value !== null &&
    'type' in value &&
    value.type === 'Buffer' &&
    'data' in value &&
    Array.isArray(value.data);
  return isBytes ? Buffer.from(value.data as number[]) : value; // so Buffer.toJSON writes it
}
