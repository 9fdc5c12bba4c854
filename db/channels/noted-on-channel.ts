import { query } from '../query.ts';

/** An update of what a service says of a channel. It is no change of the channel: this keeps `updatedAt`, which an update would otherwise set. */
export const notedOnChannel = query.updateTable('channels').set(({ ref }) => ({ updatedAt: ref('updatedAt') }));
