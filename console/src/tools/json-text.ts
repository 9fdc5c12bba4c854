/** The object that a text writes in JSON; null: it writes none. An empty text is the empty object. */
export function objectOf(text: string | undefined): Record<string, unknown> | null {
  if (text === undefined || text.trim() === '') return {};
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : null; // an object, as checked
  } catch {
    return null;
  }
}

export function namesOf(text: string | undefined): string[] {
  return (text ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}
