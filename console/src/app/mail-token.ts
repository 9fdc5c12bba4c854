/** The token of a mail's link, taken out of the address bar before anything else happens; null: the link has none. */
let token: string | null = null;

export function keepMailToken(): void {
  const { hash, pathname, search } = location;
  if (!hash.startsWith('#token=')) return;
  token = decodeURIComponent(hash.slice('#token='.length));
  history.replaceState(null, '', pathname + search);
}

export function takeMailToken(): string | null {
  return token;
}
