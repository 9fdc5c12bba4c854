# API, workers and commands of Longhaul: one image, the command says which.
FROM node:24.21.0-bookworm-slim

ENV NODE_ENV=production
WORKDIR /app

# For code that tools run. Whether a container may make the namespaces it needs is up to its host: see README, "Known limits".
RUN apt-get update && apt-get install --yes --no-install-recommends bubblewrap python3 && rm -rf /var/lib/apt/lists/*

COPY package.json package-lock.json ./
COPY cli/prepare.mjs cli/slim.mjs cli/
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund && npm cache clean --force && node cli/slim.mjs

COPY . .
RUN node workers/build-bundle.ts && install --directory --owner=node --group=node --mode=700 .longhaul

USER node
EXPOSE 3000
CMD ["node", "api/server.ts"]
