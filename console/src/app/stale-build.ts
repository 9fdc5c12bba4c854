const mark = 'longhaul-reloaded-at';
const againAfterMs = 60_000;

/** A tab older than the two newest builds asks for files that are gone: it loads the page again, once. */
export function reloadOnceWhenStale(): void {
  window.addEventListener('vite:preloadError', (event) => {
    const last = Number(sessionStorage.getItem(mark) ?? 0);
    if (Date.now() - last < againAfterMs) return;
    sessionStorage.setItem(mark, String(Date.now()));
    event.preventDefault();
    location.reload();
  });
}
