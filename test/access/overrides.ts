import type { Stage } from './stage.ts';
import type { Actor, Ground } from './world/actors.ts';
import type { Place } from './world/places.ts';

/** A request as the schemas alone suggest it. */
export interface Aimed {
  readonly params: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
}

interface Situation {
  readonly stage: Stage;
  readonly actor: Actor;
  readonly ground: Ground;
  /** Where the actor's own rows are. */
  readonly own: Place;
  readonly aimed: Aimed;
}

type Override = (situation: Situation) => Partial<Aimed> | Promise<Partial<Aimed>>;

const body = (value: unknown): Override => () => ({ body: value });

/** Operations whose documented example would be refused on its meaning, or waits. */
export const overrides: Readonly<Record<string, Override>> = {
  createRun: ({ stage, own }) => ({ body: { agent_id: stage.world.rows.first('agents', own)?.['id'], workspace_id: own.workspaceId ?? undefined, input: { text: 'Hello' } } }),
  waitForRun: () => ({ query: { timeout_s: '1' } }),
};
