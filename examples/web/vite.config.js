import { defineConfig } from 'vite';

// The browser never sees the token: this server adds it. Your own backend does the same in production.
const ullage = {
  target: process.env.ULLAGE_URL ?? 'http://127.0.0.1:8080',
  headers: { authorization: `Bearer ${process.env.ULLAGE_TOKEN}` },
};

export default defineConfig({ server: { proxy: { '/v1': ullage } } });
