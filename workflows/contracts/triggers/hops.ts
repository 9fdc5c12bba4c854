/** Header by which outgoing requests say how many hooks their cause has come through. */
export const hopsHeader = 'x-longhaul-hops';

/** A hook refuses what has come through so many. */
export const maxHops = 8;

/** The hops that a request says; 0 where it says none, or no number. */
export function hopsOf(value: string | undefined): number {
  return value !== undefined && /^\s*\d{1,9}\s*$/.test(value) ? Number(value) : 0;
}
