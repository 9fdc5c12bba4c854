import { sql } from 'kysely';

/** Column of a page of items `i`: the characters of the items before each. An outer query takes the items up to a limit of characters. */
export const charsBefore = sql<number>`sum(length(i.content)) over (order by i.id) - length(i.content)`.as('before');
