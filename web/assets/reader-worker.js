// Reading files and advising is a module of its own: most visits never ask for it.
import init from "./foreglow-reader.js";

init({ module_or_path: new URL("./foreglow-reader_bg.wasm", import.meta.url) }).catch((error) => {
  self.postMessage(JSON.stringify({ Broken: String(error) }));
});
