import { area } from '../http/operation/operation.ts';
import { bindingOperations } from './bindings.operations.ts';
import { playbookOperations } from './playbooks.operations.ts';

export const codeReview = area('Code review', { ...bindingOperations, ...playbookOperations });
