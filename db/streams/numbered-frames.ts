import { sql } from 'kysely';

/** The frames of the chunks `c` as rows; `n` counts them within their chunk. */
export const numberedFrames = sql<{ text: string; n: number }>`unnest(c.frames) with ordinality`.as<'f'>(sql`f (text, n)`);
