import { afterAll, beforeAll, jest } from '@jest/globals';
import type { BrowserContext, Page } from 'playwright-core';
import { startModelServer, type ModelServer } from '../../fakes/model-server.ts';
import { startEffectServer, type EffectServer } from '../../support/scenario.ts';
import { startOwnStack, type Stack, type StackOptions } from '../../support/stack.ts';
import type { TestUser } from '../../support/tenant.ts';
import { lookAtWidths, openStage, openTab, prepareConsole, signIn, type Stage, type Watched } from './stage.ts';

/** A deployment with its console, a scripted model and a server that tools write to, and a browser before it: for all tests of a `describe`. */
export interface ConsoleStack {
  readonly stack: Stack;
  readonly stage: Stage;
  readonly models: ModelServer;
  readonly effects: EffectServer;
  /** Address of the workspace's views. */
  readonly home: string;
  /**
   * What is wrong with the looks at 320 and 1280 px, light and dark, that `visit` takes: it leads a tab from view to view. Whoever is signed in, an administrator
   * unless given, begins at `path`.
   */
  looks(path: string, visit: Visit, user?: Pick<TestUser, 'email'>): Promise<string[]>;
  /** A browser whose user is signed in, at one of the views. */
  signedIn(path: string, options?: SignInOptions): Promise<Watched & { readonly context: BrowserContext }>;
}

/** `look` takes a look at what the page shows now, under a name. */
type Visit = (page: Page, look: (name: string) => Promise<void>) => Promise<void>;

interface SignInOptions {
  /** The admin of the workspace unless given. */
  readonly user?: Pick<TestUser, 'email'>;
  readonly width?: number;
  readonly dark?: boolean;
  /** A browser that is open already, in place of a new one. */
  readonly context?: BrowserContext;
}

interface ConsoleStackOptions {
  readonly processes?: StackOptions['processes'];
  /** Further settings of the processes. */
  readonly env?: StackOptions['env'];
}

/** Starts it before the tests and stops it after them. Call what it returns inside of tests only. */
export function consoleStack({ processes = ['api', 'worker-runs'], env = {} }: ConsoleStackOptions = {}): () => ConsoleStack {
  // A look at every view takes minutes on a busy machine.
  jest.setTimeout(900_000);
  let started: ConsoleStack | undefined;
  beforeAll(async () => {
    const dir = prepareConsole();
    const models = await startModelServer();
    const effects = await startEffectServer();
    const stack = await startOwnStack({
      processes,
      modelBaseUrl: models.baseUrl,
      egressPorts: [effects.port],
      env: {
        CONSOLE_DIR: dir,
        UNPRICED_MODEL: 'zero_with_alert',
        RATE_LIMITS: 'principal=100000/60,workspace=100000/60,anonymous=off,login_pair=1000/60,login_ip=1000/60',
        ...env,
      },
    });
    const stage = await openStage();
    const home = `${stack.url()}/console/w/${stack.tenant.workspaceId}`;
    const signedIn: ConsoleStack['signedIn'] = async (path, { user = stack.tenant.users.admin, context: given, ...options } = {}) => {
      const context = given ?? (await stage.context(options));
      const tab = await openTab(context, home + path);
      await signIn(tab.page, user);
      await tab.page.locator('#content h1').waitFor();
      return { ...tab, context };
    };
    const looks: ConsoleStack['looks'] = async (path, visit, user = stack.tenant.users.admin) => {
      const faults: string[] = [];
      for (const dark of [false, true]) {
        const { context, ...tab } = await signedIn(path, { user, dark });
        await visit(tab.page, async (name) => void faults.push(...(await lookAtWidths(tab, name))));
        await context.close();
      }
      return faults;
    };
    started = { stack, stage, models, effects, home, signedIn, looks };
  });
  afterAll(async () => {
    await started?.stage.close();
    await started?.stack.stop();
    started?.effects.close();
    await started?.models.close();
  });
  return () => {
    if (started === undefined) throw new Error('the stack has not started');
    return started;
  };
}
