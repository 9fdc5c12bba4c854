export const runTabs = ['conversation', 'steps', 'messages', 'tree'] as const;
export type RunTab = (typeof runTabs)[number];

/** Which part of a run its address shows; none: the conversation. */
export function parseRunTab(search: Readonly<Record<string, unknown>>): { readonly tab?: RunTab } {
  const tab = runTabs.find((one) => one === search['tab']);
  return tab === undefined ? {} : { tab };
}
