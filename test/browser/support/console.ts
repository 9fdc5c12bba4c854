import type { BrowserContext, Page } from 'playwright-core';
import { startModelServer, type ModelServer } from '../../fakes/model-server.ts';
import { startEffectServer, type EffectServer } from '../../support/scenario.ts';
import { startOwnStack, type Stack, type StackOptions } from '../../support/stack.ts';
import type { TestUser } from '../../support/tenant.ts';
import { openStage, openTab, prepareConsole, signIn, type Stage, type Watched } from './stage.ts';

/** A deployment that serves the console, and a browser. */
export interface Console {
  readonly stage: Stage;
  readonly stack: Stack;
  readonly effects: EffectServer;
  /** Of the tenant's workspace. */
  readonly home: string;
  /** A browser whose user, an administrator unless named, is signed in, at the list of runs. */
  signedIn(context?: BrowserContext, user?: TestUser): Promise<Watched & { readonly context: BrowserContext }>;
  close(): Promise<void>;
}

const rateLimits = 'principal=100000/60,workspace=100000/60,anonymous=off,login_pair=1000/60,login_ip=1000/60';

/** Starts both, with a model that plays scripts and a server that records effects. Further settings of the processes by `env`. */
export async function openConsole({ env = {}, ...options }: Partial<StackOptions> = {}): Promise<Console> {
  const dir = prepareConsole();
  const models: ModelServer = await startModelServer();
  const effects = await startEffectServer();
  const stack = await startOwnStack({
    processes: ['api', 'worker-runs'],
    modelBaseUrl: models.baseUrl,
    egressPorts: [effects.port],
    ...options,
    env: { CONSOLE_DIR: dir, RATE_LIMITS: rateLimits, ...env },
  });
  const stage = await openStage();
  const home = `${stack.url()}/console/w/${stack.tenant.workspaceId}`;
  return {
    stage,
    stack,
    effects,
    home,
    async signedIn(given, user = stack.tenant.users.admin) {
      const context = given ?? (await stage.context());
      const tab = await openTab(context, `${home}/runs`);
      await signIn(tab.page, user);
      await tab.page.getByRole('heading', { name: 'Runs' }).waitFor();
      return { ...tab, context };
    },
    async close() {
      await stage.close();
      await stack.stop();
      effects.close();
      await models.close();
    },
  };
}

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
