# API, workers and commands of Longhaul: one image, the command says which.
FROM node:24.21.0-bookworm-slim

ENV NODE_ENV=production
WORKDIR /app

# The image has its own Node; the one that comes as a package is for hosts with an older one.
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund && rm -rf node_modules/node-linux-* node_modules/.bin/node

COPY . .
RUN node workers/build-bundle.ts && install --directory --owner=node --group=node --mode=700 .longhaul

USER node
EXPOSE 3000
CMD ["node", "api/server.ts"]
