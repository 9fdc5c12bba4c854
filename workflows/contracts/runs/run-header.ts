/** Header by which requests of a run's tools name the run: an event that they publish continues its chain. */
export const runHeader = 'x-longhaul-run';

const idForm = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Returns the run that a request names, or null when it names none or no valid id. */
export function runOfHeader(value: string | readonly string[] | undefined): string | null {
  return typeof value === 'string' && idForm.test(value) ? value.toLowerCase() : null;
}
