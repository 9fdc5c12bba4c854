/** Whether a path can be that of a file in a repository on every system: relative, with no part that is empty, `.`, `..` or another spelling of `.git`. */
export function isPlainPath(path: string): boolean {
  // oxlint-disable-next-line no-control-regex -- none may be in a path
  if (path.length === 0 || path.length > 1_000 || /[\u0000-\u001f\u007f\\]/.test(path)) return false;
  return path.split('/').every((part) => part !== '' && part !== '.' && part !== '..' && !isGitFolder(part));
}

/** HFS+ ignores some code points; NTFS ignores trailing dots and spaces, and knows streams and short names (CVE-2014-9390, CVE-2019-1352). */
function isGitFolder(part: string): boolean {
  const plain = part
    .normalize('NFC')
    .replaceAll(/[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g, '')
    .toLowerCase()
    .replace(/[. ]+$/, '');
  return /^(?:\.git|git~\d+)(?:[: .]|$)/.test(plain) || plain === '.gitmodules';
}
