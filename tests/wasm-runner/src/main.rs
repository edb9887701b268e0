//! Runs a wasm32 test binary in a headless browser, as `wasm-bindgen-test-runner` does, without
//! installing that.

fn main() -> anyhow::Result<()> {
    wasm_bindgen_cli::wasm_bindgen_test_runner::run_cli_with_args(std::env::args_os())
}
