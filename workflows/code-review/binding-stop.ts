import { defineSignal, proxyActivities, setHandler } from '@temporalio/workflow';
import { bindingChanged, type BindingActivities } from '../contracts/review/pull-requests.ts';

const { applyBinding } = proxyActivities<BindingActivities>({
  startToCloseTimeout: '30 seconds',
  retry: { initialInterval: '500 milliseconds', backoffCoefficient: 2, maximumInterval: '30 seconds' },
});

export const bindingChangedSignal = defineSignal(bindingChanged);

/**
 * Id `binding-stop:<binding>`: applies what is reported of a binding's repository and installation, and stops the pull requests of a binding that is no longer
 * reviewed.
 */
export async function bindingStop(input: { readonly bindingId: string }): Promise<void> {
  let isDue = true;
  setHandler(bindingChangedSignal, () => {
    isDue = true;
  });

  while (isDue) {
    isDue = false;
    if (await applyBinding(input)) isDue = true;
  }
}
