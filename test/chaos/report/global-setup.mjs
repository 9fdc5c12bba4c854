// Jest would compile a TypeScript file to be required here; Node runs it as it is.
export default async function globalSetup() {
  const { clearResults } = await import('./results.ts');
  // `CHAOS_KEEP=1` puts a part beside what was played before.
  if (!process.env['CHAOS_KEEP']) clearResults();
  const { setUp } = await import('../../support/services.ts');
  await setUp();
}
