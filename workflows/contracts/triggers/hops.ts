/** Header by which outgoing requests say how many hooks led to them. */
export const hopsHeader = 'x-longhaul-hops';

/** A hook refuses a request that has come through this many hooks. */
export const maxHops = 8;

/** Returns the hops that a request names, or 0 when it names none or no number. */
export function hopsOf(value: string | undefined): number {
  return value !== undefined && /^\s*\d{1,9}\s*$/.test(value) ? Number(value) : 0;
}

/** Header by which requests of a run's tools name the run: an event that they publish continues its chain. */
export const runHeader = 'x-longhaul-run';

const idForm = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Returns the run that a request names, or null when it names none or no valid id. */
export function runOfHeader(value: string | readonly string[] | undefined): string | null {
  return typeof value === 'string' && idForm.test(value) ? value.toLowerCase() : null;
}
