import { area } from '../http/operation/operation.ts';
import { baseOperations } from './bases.operations.ts';
import { grantOperations } from './grants.operations.ts';
import { itemOperations } from './items.operations.ts';
import { manyItemsOperations } from './many-items.operations.ts';
import { reembedOperations } from './reembed.operations.ts';
import { relationOperations } from './relations.operations.ts';
import { knowledgeSearchOperations } from './search.operations.ts';
import { sourceOperations } from './sources.operations.ts';
import { transferOperations } from './transfer.operations.ts';

/** Knowledge bases: what they hold, and who may use them. */
export const knowledge = area('Knowledge', {
  ...baseOperations,
  ...reembedOperations,
  ...grantOperations,
  ...sourceOperations,
  ...itemOperations,
  ...manyItemsOperations,
  ...relationOperations,
  ...knowledgeSearchOperations,
  ...transferOperations,
});
