// Loads the module that reads files and advises, which is separate because most visits never use
// it.
import init from "./foreglow-reader.js";

init({ module_or_path: new URL("./foreglow-reader_bg.wasm", import.meta.url) }).catch((error) => {
  self.postMessage(String(error));
});
