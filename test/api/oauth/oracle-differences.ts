/** Where our server gives another verdict than oidc-provider, and why. */
export const reasonedDifferences: Readonly<Record<string, { readonly ours: string; readonly oracle: string; readonly why: string }>> = {};
