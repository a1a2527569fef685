import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";
import { sourceHash } from "./source-hash.ts";

/** Load the script before the first paint, and name the source that it was built from. */
function finishHtml(): Plugin {
  return {
    name: "finish-html",
    apply: "build",
    transformIndexHtml: {
      order: "post",
      handler: (html) => ({
        // Without `blocking` the page would flash in the theme of the system before that of the reader is set.
        html: html.replace('<script type="module" crossorigin', '<script type="module" blocking="render"').replace(" crossorigin", ""),
        tags: [{ tag: "meta", attrs: { name: "source-sha256", content: sourceHash(import.meta.dirname) }, injectTo: "head" }],
      }),
    },
  };
}

export default defineConfig({
  base: "./",
  plugins: [finishHtml()],
  build: {
    outDir: "../api/page",
    emptyOutDir: true,
    target: "es2022",
    minify: true,
    cssMinify: true,
    cssCodeSplit: false,
    modulePreload: false,
    rolldownOptions: {
      output: {
        entryFileNames: "page.js",
        chunkFileNames: "[name].js",
        assetFileNames: "page.[ext]",
        postBanner: "/*! Includes Preact, (c) 2015-present Jason Miller, MIT License: https://preactjs.com */",
      },
    },
  },
  server: {
    host: "127.0.0.1",
    proxy: Object.fromEntries(["/v3", "/docs", "/openapi.json"].map((path) => [path, process.env.API ?? "http://127.0.0.1:8080"])),
  },
  // Generous for a busy machine: the slowest test takes a second alone.
  test: { include: ["src/**/*.test.ts", "src/**/*.test.tsx"], testTimeout: 120_000, hookTimeout: 120_000 },
});
