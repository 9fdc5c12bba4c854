/** What the comparison uses of oidc-provider, which brings no types. */
declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http';

  interface Client {
    readonly clientId: string;
    grantTypeAllowed(type: string): boolean;
  }

  interface Grant {
    addOIDCScope(scope: string): void;
    addResourceScope(resource: string, scope: string): void;
    save(): Promise<string>;
  }

  interface Context {
    readonly oidc: {
      readonly client?: Client;
      readonly session?: { readonly accountId?: string };
      readonly provider: { readonly Grant: new (of: { clientId: string; accountId: string }) => Grant };
    };
  }

  export interface Configuration {
    readonly issueRefreshToken: (ctx: Context, client: Client) => Promise<boolean>;
    readonly findAccount: (ctx: Context, id: string) => { accountId: string; claims: () => Promise<{ sub: string }> };
    readonly interactions: { readonly url: (ctx: Context, interaction: { uid: string }) => string; readonly policy: unknown };
    readonly loadExistingGrant: (ctx: Context) => Promise<Grant>;
    readonly features: {
      readonly resourceIndicators: {
        readonly getResourceServerInfo: (ctx: Context, resource: string) => { scope: string; audience: string; accessTokenFormat: string };
        readonly [setting: string]: unknown;
      };
      readonly [feature: string]: unknown;
    };
    readonly [setting: string]: unknown;
  }

  export const errors: { readonly InvalidTarget: new () => Error };
  export const interactionPolicy: {
    readonly base: () => { get(prompt: string): { readonly checks: { remove(check: string): void } } };
  };

  export class Provider {
    constructor(issuer: string, configuration: Configuration);
    callback(): (request: IncomingMessage, response: ServerResponse) => Promise<void>;
    interactionFinished(request: IncomingMessage, response: ServerResponse, result: object): Promise<void>;
  }
}
