// Loads the page's own module as the fit worker. The page sends the compiled module in its first
// message; in a scope without a window, the module serves fit requests.
import init from "./foreglow-web.js";

const started = ({ data }) =>
  init({ module_or_path: data }).catch((error) => {
    self.postMessage(String(error));
  });
self.addEventListener("message", started, { once: true });
