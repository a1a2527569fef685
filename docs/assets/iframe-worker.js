// Lets the search work in pages that are opened from a folder, where browsers start no worker: its script runs
// in a hidden frame instead, and messages go to and fro as those of a worker do.
if (location.protocol === "file:") {
  window.Worker = class {
    constructor(url) {
      const frame = document.createElement("iframe");
      frame.hidden = true;
      this.scope = new Promise((resolve) => {
        const start = () => {
          document.body.append(frame);
          const scope = frame.contentWindow;
          scope.postMessage = (data) => this.onmessage?.(new MessageEvent("message", { data }));
          const script = scope.document.createElement("script");
          script.src = new URL(url, location.href).href;
          script.onload = () => resolve(scope);
          scope.document.body.append(script);
        };
        document.body ? start() : addEventListener("DOMContentLoaded", start);
      });
    }

    postMessage(data) {
      this.scope.then((scope) => scope.onmessage?.(new MessageEvent("message", { data })));
    }

    terminate() {}
  };
}
