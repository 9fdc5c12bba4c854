// Jest would compile a TypeScript file to be required here; Node runs it as it is.
export default async function globalSetup() {
  const { clearResults } = await import('./results.ts');
  clearResults();
  const { setUp } = await import('../../support/services.ts');
  await setUp();
}
