import type { Page } from 'playwright-core';

/** Waits for the end of the run that a page shows. */
export async function untilEnded(page: Page): Promise<void> {
  await page.locator('header [data-status="succeeded"]').waitFor();
  await page.getByText('live', { exact: true }).waitFor({ state: 'detached' });
}

/** What the transcript says, entry by entry, without the times. */
export async function transcriptOf(page: Page): Promise<string[]> {
  return page.locator('main ol > li').evaluateAll((entries) =>
    entries.map((entry) => {
      const copy = entry.cloneNode(true) as Element;
      for (const time of copy.querySelectorAll('time')) time.remove();
      return copy.textContent ?? '';
    }),
  );
}
