// The fit runs beside the page, in the same module, which the page hands over first: it sees that it has no window and waits for
// messages.
import init from "./foreglow-web.js";

const started = ({ data }) =>
  init({ module_or_path: data }).catch((error) => {
    self.postMessage(JSON.stringify({ Broken: String(error) }));
  });
self.addEventListener("message", started, { once: true });
