import { join } from 'node:path';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

export default defineConfig({
  base: '/console/',
  plugins: [react()],
  resolve: { alias: { '@longhaul/client': join(import.meta.dirname, '../clients/typescript/src/index.ts') } },
  build: {
    target: 'es2023',
    // The policy allows no data: script or font, and few files are better than many small ones.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 600,
  },
});
