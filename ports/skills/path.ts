/** Maximum length of a document's name. */
export const skillPathLength = 200;

// oxlint-disable-next-line no-control-regex -- they are what is looked for
const control = /[\u0000-\u001f\u007f-\u009f]/;

/**
 * Returns what is wrong with the name of a document, which is a relative path with slashes; null for a valid one. Nothing is ever written under such a name
 * here, but a client that exports a skill will do so.
 */
export function faultOfSkillPath(path: string): string | null {
  if (path === '') return 'is empty';
  if (path.length > skillPathLength) return `is longer than ${skillPathLength} characters`;
  if (!path.isWellFormed() || control.test(path)) return 'contains a control character';
  if (path.includes('\\')) return 'contains a backslash';
  if (path.startsWith('/') || /^[A-Za-z]:/.test(path)) return 'is absolute';
  const segments = path.split('/');
  if (segments.includes('..') || segments.includes('.')) return 'leads outside its folder';
  if (segments.includes('')) return 'has an empty segment';
  return null;
}
