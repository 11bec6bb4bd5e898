// Builds one file: the page with its script and styles inside, and a policy that lets nothing else run or load.
import { createHash } from "node:crypto";
import { defineConfig } from "vite";

const digest = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

function oneFile() {
  return {
    name: "one-file",
    enforce: "post",
    generateBundle(_, bundle) {
      const page = Object.values(bundle).find((part) => part.fileName.endsWith(".html"));
      const scripts = Object.values(bundle).filter((part) => part.type === "chunk");
      const styles = Object.values(bundle).filter((part) => part.fileName.endsWith(".css"));
      const code = scripts.map((part) => part.code).join("\n").replaceAll("</script", "<\\/script");
      const css = styles.map((part) => part.source).join("\n");
      const policy = `default-src 'none'; script-src ${digest(code)}; style-src ${digest(css)}; img-src data:; base-uri 'none'; form-action 'none'`;
      let html = page.source.replace(/<script type="module"[^>]*><\/script>\s*/, "").replace(/<link rel="stylesheet"[^>]*>\s*/, "");
      html = html.replace("<!--policy-->", () => `<meta http-equiv="Content-Security-Policy" content="${policy}">`);
      html = html.replace("<!--styles-->", () => `<style>${css}</style>`);
      html = html.replace("<!--script-->", () => `<script type="module">${code}</script>`);
      page.source = html;
      for (const part of [...scripts, ...styles]) delete bundle[part.fileName];
    },
  };
}

export default defineConfig({
  build: { target: "es2022", modulePreload: false, assetsInlineLimit: 1e9, cssCodeSplit: false, outDir: "dist" },
  plugins: [oneFile()],
});
