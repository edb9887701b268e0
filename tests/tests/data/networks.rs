//! Costs of the network in a dropped ONNX file.

use std::fs;

use foreglow_shared::format_integer;
use foreglow_tests::{Answer, Browser, workspace_dir};
use serde_json::json;

use super::{open_page, pick, says};

/// Drops a file on the page.
pub(crate) async fn drop_file(browser: &Browser, name: &str, bytes: &[u8]) -> anyhow::Result<()> {
    let code = "const bytes = Uint8Array.from(arguments[1]);
        const dataTransfer = new DataTransfer();
        dataTransfer.items.add(new File([bytes], arguments[0]));
        window.dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }));";
    browser.page.execute(code, vec![json!(name), json!(bytes)]).await?;
    Ok(())
}

#[tokio::test]
async fn a_dropped_onnx_file_shows_what_its_network_costs_as_the_command_line_counts_it() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let exports = workspace_dir().join("shared/onnx/tests/exports");
    let (_host, browser) = open_page().await?;
    for name in ["shufflenet_v2.onnx", "mobilenet_v3.onnx"] {
        let path = exports.join(name);
        let args = ["models", "--layers", &path.display().to_string(), "--format", "json"];
        let told = Answer::of(home.path(), &args)?.json()?;
        drop_file(&browser, name, &fs::read(&path)?).await?;
        says(&browser, "network-costs", name).await?;
        let row = "return [...document.querySelectorAll('[data-testid=network-costs] tr')].at(-1).textContent";
        let row = browser.page.execute(row, vec![]).await?.json().to_string();
        for figure in ["parameters", "multiply_accumulates", "activations", "traffic_bytes", "launches"] {
            let figure = format_integer(told[figure].as_u64().unwrap_or_default());
            assert!(row.contains(&figure), "{name}: {figure} in {row}");
        }
        let last = told["layers"].as_array().and_then(|layers| layers.last()).map(|layer| layer["name"].clone());
        let last = last.as_ref().and_then(|name| name.as_str()).unwrap_or("no layer").to_owned();
        let layers = "return document.querySelector('[data-testid=network-layers]').textContent";
        let layers = browser.page.execute(layers, vec![]).await?.json().to_string();
        assert!(layers.contains(&last), "{name} has no {last}");
    }

    // The networks stay when another file is damaged.
    let damaged = home.path().join("damaged.onnx");
    let bytes = fs::read(exports.join("convnext.onnx"))?;
    fs::write(&damaged, &bytes[..bytes.len() / 2])?;
    pick(&browser, &damaged).await?;
    says(&browser, "alert", "damaged.onnx cannot be used: ").await?;
    let costs = browser.text("network-costs").await?;
    assert!(costs.contains("shufflenet_v2.onnx") && costs.contains("mobilenet_v3.onnx"), "{costs}");
    assert!(!costs.contains("damaged.onnx"), "{costs}");
    browser.close().await
}
