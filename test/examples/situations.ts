import type { Ask, Stage } from '../access/stage.ts';
import type { Actor, Ground } from '../access/world/actors.ts';
import { oauthSituations } from './oauth.ts';
import type { Made } from './play.ts';

export interface Situation {
  readonly stage: Stage;
  readonly actor: Actor;
  readonly ground: Ground;
  readonly made: Made;
}

export type Situated = Omit<Ask, 'url'> & { readonly params?: Readonly<Record<string, string>>; readonly search?: string };

/** Operations whose example wants more than the rows of the play and the documented body. */
export const situations: Readonly<Record<string, (situation: Situation) => Situated | Promise<Situated>>> = {
  ...oauthSituations,
  endMcp: async ({ stage, actor }) => {
    const body = {
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'example', version: '1.0.0' } },
    };
    const headers = { ...actor.headers, accept: 'application/json, text/event-stream' };
    const begun = await stage.api.app.inject({ method: 'POST', url: '/mcp', headers, payload: body });
    return { headers: { 'mcp-session-id': String(begun.headers['mcp-session-id']) } };
  },
  callMcp: () => ({
    body: {
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'example', version: '1.0.0' } },
    },
    headers: { accept: 'application/json, text/event-stream' },
  }),
};
