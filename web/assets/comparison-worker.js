// The comparison of all learners is a module of its own: most visits never ask for it.
import init from "./foreglow-comparison.js";

init({ module_or_path: new URL("./foreglow-comparison_bg.wasm", import.meta.url) }).catch((error) => {
  self.postMessage(JSON.stringify({ Broken: String(error) }));
});
