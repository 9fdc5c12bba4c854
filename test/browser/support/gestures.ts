import type { Locator, Page } from 'playwright-core';

/** Presses the first button of that name. */
export async function press(place: Page | Locator, name: string): Promise<void> {
  await place.getByRole('button', { name, exact: true }).first().click();
}

/** Moves the focus to a control by the Tab key alone. */
export async function tabTo(page: Page, target: Locator): Promise<void> {
  await target.waitFor();
  while (!(await target.evaluate((node) => node === document.activeElement))) await page.keyboard.press('Tab');
}

/** Chooses one of a few, by the label of the choice. */
export async function choose(place: Page | Locator, label: string, option: RegExp): Promise<void> {
  await place.getByRole('button', { name: new RegExp(`${label}$`) }).click();
  const page = 'page' in place ? place.page() : place;
  await page.getByRole('option', { name: option }).first().click();
}

/** Says something in the playground. */
export async function say(page: Page, text: string): Promise<void> {
  await page.getByLabel('Message', { exact: true }).fill(text);
  await press(page, 'Send');
}

/** Waits until a view inside the shell shows what it has read; the sign-in is none. */
export async function untilLoaded(page: Page): Promise<void> {
  await page.locator('#content h1').waitFor();
  await page.getByText('Loading…').first().waitFor({ state: 'detached' });
}
