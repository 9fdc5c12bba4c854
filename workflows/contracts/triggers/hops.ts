/** Header by which outgoing requests say how many hooks led to them. */
export const hopsHeader = 'x-longhaul-hops';

/** A hook refuses a request that has come through this many hooks. */
export const maxHops = 8;

/** Returns the hops that a request names, or 0 when it names none or no number. */
export function hopsOf(value: string | undefined): number {
  return value !== undefined && /^\s*\d{1,9}\s*$/.test(value) ? Number(value) : 0;
}
