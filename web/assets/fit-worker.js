// The fit runs beside the page, in the same module: it sees that it has no window and waits for messages.
import init from "./foreglow-web.js";

init({ module_or_path: new URL("./foreglow-web_bg.wasm", import.meta.url) }).catch((error) => {
  self.postMessage(JSON.stringify({ Broken: String(error) }));
});
