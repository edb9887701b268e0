// Loads the comparison of all learners, a separate module because most visits never use it.
import init from "./foreglow-comparison.js";

init({ module_or_path: new URL("./foreglow-comparison_bg.wasm", import.meta.url) }).catch((error) => {
  self.postMessage(String(error));
});
