/** In place of every value that a label does not know: the number of series stays bounded, whatever comes. */
export const otherLabel = 'other';

/** Gives the function that lets the known values of a label through and makes all others `other`. */
export function knownLabels(known: readonly string[]): (value: string | null) => string {
  const values = new Set(known);
  return (value) => (value !== null && values.has(value) ? value : otherLabel);
}
