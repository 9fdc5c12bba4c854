import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { testPassword, type TestUser } from '../../support/tenant.ts';
import { findBrowser } from './find-browser.ts';

const root = join(import.meta.dirname, '../../..');
const resolve = createRequire(import.meta.url).resolve;

/** Installs what these tests need, and builds the console: both once. Returns the folder of the build. */
export function prepareConsole(): string {
  run(['cli/prepare.mjs', '--development', 'test/browser']);
  const dir = join(root, '.longhaul/console');
  run(['cli/build-console.mjs', dir]);
  return dir;
}

function run(args: readonly string[]): void {
  const { status, stderr, stdout } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${args.join(' ')}: ${stdout}${stderr}`);
}

/** Why these tests can't run here; null: they can. With CI set, that is a failure where a browser comes with the packages. */
export async function reasonToSkip(): Promise<string | null> {
  const isDemanded = process.env['CI'] !== undefined && process.platform === 'linux' && process.arch === 'x64';
  try {
    run(['cli/prepare.mjs', '--development', 'test/browser']);
    const found = await findBrowser();
    if (typeof found !== 'string') return null;
    if (isDemanded) throw new Error(found);
    return found;
  } catch (error) {
    if (isDemanded) throw error;
    return error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
  }
}

/** What a page has said that it must not say. */
export interface Watched {
  readonly page: Page;
  /** Violations of the policy, uncaught exceptions and errors on the console; statuses of requests are not among them. */
  readonly faults: string[];
}

export interface Stage {
  readonly browser: Browser;
  /** A browser of its own: tabs of one context share cookies and storage. */
  context(options?: { readonly width?: number; readonly dark?: boolean }): Promise<BrowserContext>;
  close(): Promise<void>;
}

export async function openStage(): Promise<Stage> {
  const found = await findBrowser();
  if (typeof found === 'string') throw new Error(found);
  const { chromium } = await import('playwright-core');
  // Only root may not have the sandbox. Nothing else that protects pages is switched off.
  const args = process.geteuid?.() === 0 ? ['--no-sandbox'] : [];
  const env = { PATH: process.env['PATH'] ?? '', LANG: 'en_US.UTF-8', ...found.env };
  const browser = await chromium.launch({ executablePath: found.executable, args, env });
  return {
    browser,
    context: ({ width = 1280, dark = false } = {}) =>
      browser.newContext({ viewport: { width, height: 800 }, locale: 'en-US', colorScheme: dark ? 'dark' : 'light' }),
    close: () => browser.close(),
  };
}

/** A tab at an address. */
export async function openTab(context: BrowserContext, url: string): Promise<Watched> {
  const page = await context.newPage();
  const faults: string[] = [];
  page.setDefaultTimeout(120_000);
  page.on('pageerror', (error) => void faults.push(error.message));
  page.on('console', (message) => {
    if (
      message.type() === 'error' &&
      !message.text().startsWith('Failed to load resource') &&
      !message.text().includes('WebSocket connection to')
    )
      faults.push(message.text());
  });
  await page.addInitScript(() => {
    const seen: string[] = [];
    Object.assign(globalThis, { violations: seen });
    document.addEventListener('securitypolicyviolation', (event) => void seen.push(`${event.violatedDirective} ${event.blockedURI}`));
  });
  await page.goto(url);
  return { page, faults };
}

/** By keyboard alone. */
export async function signIn(page: Page, { email }: Pick<TestUser, 'email'>, password: string = testPassword): Promise<void> {
  await page.getByLabel('Email address').waitFor();
  await page.keyboard.type(email);
  await page.keyboard.press('Tab');
  await page.keyboard.type(password);
  await page.keyboard.press('Enter');
}

/** What axe finds (WCAG 2.0 to 2.2, A and AA), what does not fit, and what the policy has refused. */
export async function faultsOf({ page, faults }: Watched): Promise<string[]> {
  const axe = readFileSync(resolve('axe-core/axe.min.js'), 'utf8');
  await page.evaluate(axe);
  const found = await page.evaluate(async () => {
    const { axe, violations } = globalThis as unknown as {
      violations: string[];
      axe: { run(at: Document, how: object): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
    };
    const { violations: findings } = await axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] });
    const overflow = document.documentElement.scrollWidth - innerWidth;
    return [
      ...findings.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(' ')}`),
      ...violations,
      ...(overflow > 0 ? [`${overflow} px wider than the window`] : []),
    ];
  });
  return [...found, ...faults];
}

/**
 * The same look, kept as a picture where `CONSOLE_SCREENSHOTS` is set: `docs/console/<name>-<width>-<light|dark>.png`. Pictures are for people; nothing compares
 * them.
 */
export async function look(tab: Watched, name: string): Promise<string[]> {
  await keepScreenshot(tab.page, name);
  return (await faultsOf(tab)).map((fault) => `${name}: ${fault}`);
}

export async function keepScreenshot(page: Page, name: string): Promise<void> {
  if (process.env['CONSOLE_SCREENSHOTS'] === undefined) return;
  const scheme = await page.evaluate(() => (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'));
  const width = page.viewportSize()?.width ?? 0;
  const dir = join(root, 'docs/console');
  mkdirSync(dir, { recursive: true });
  await page.screenshot({ path: join(dir, `${name}-${width}-${scheme}.png`), fullPage: true });
}

/** Looks at what a context shows at 320 and 1280 px. */
export async function lookAtWidths(tab: Watched, name: string): Promise<string[]> {
  const faults: string[] = [];
  for (const width of [320, 1280]) {
    await tab.page.setViewportSize({ width, height: 800 });
    faults.push(...(await look(tab, name)).map((fault) => `${width} px, ${fault}`));
  }
  return faults;
}
