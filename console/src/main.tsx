import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { keepMailToken } from './app/mail-token.ts';
import { queryClient } from './app/queries.ts';
import { router } from './app/router.tsx';
import { startSession } from './app/start-session.ts';
import { reloadOnceWhenStale } from './app/stale-build.ts';
import './ui/tokens.css';
import './ui/base.css';

keepMailToken();
reloadOnceWhenStale();
startSession();

const root = document.getElementById('root');
if (root === null) throw new Error('index.html has no root');
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
);
