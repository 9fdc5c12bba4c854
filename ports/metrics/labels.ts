/** Replaces every unknown value of a label: the number of series stays bounded whatever arrives. */
export const otherLabel = 'other';

/** Returns a function that passes the known values of a label and maps all others to `other`. */
export function knownLabels(known: readonly string[]): (value: string | null) => string {
  const values = new Set(known);
  return (value) => (value !== null && values.has(value) ? value : otherLabel);
}
