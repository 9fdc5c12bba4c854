import type { Headers, WorkflowInterceptorsFactory } from '@temporalio/workflow';
import { tenantHeader } from '../contracts/queues.ts';

/**
 * Passes the signed tenant header of a workflow's start on to its activities, children and continuations, unchanged: workflows hold no key, the activity's side
 * verifies the signature.
 */
export const interceptors: WorkflowInterceptorsFactory = () => {
  let received: Headers = {};
  const passOn = <Input extends { readonly headers: Headers }>(input: Input): Input => ({
    ...input,
    headers: { ...received, ...input.headers },
  });

  return {
    inbound: [
      {
        execute: (input, next) => {
          const header = input.headers[tenantHeader];

          received = header ? { [tenantHeader]: header } : {};
          return next(input);
        },
      },
    ],
    outbound: [
      {
        scheduleActivity: (input, next) => next(passOn(input)),
        scheduleLocalActivity: (input, next) => next(passOn(input)),
        startChildWorkflowExecution: (input, next) => next(passOn(input)),
        continueAsNew: (input, next) => next(passOn(input)),
      },
    ],
  };
};
