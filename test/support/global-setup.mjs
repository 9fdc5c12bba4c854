// Jest would compile a TypeScript file to be required here; Node runs it as it is.
export default async function globalSetup() {
  const { setUp } = await import('./services.ts');
  await setUp();
}
