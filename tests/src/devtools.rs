//! What WebDriver has no words for: Chromium's own protocol, through its driver.

use serde_json::{Value, json};

use crate::Browser;

impl Browser {
    /// One command of the protocol, such as `Emulation.setEmulatedMedia`.
    ///
    /// # Errors
    /// The browser refuses it.
    pub async fn devtools(&self, name: &'static str, parameters: Value) -> anyhow::Result<()> {
        self.page.cdp().send_raw(name, parameters).await?;
        Ok(())
    }

    /// `light` or `dark`, as the person's system asks for it.
    ///
    /// # Errors
    /// As [`Browser::devtools`].
    pub async fn prefer(&self, scheme: &str) -> anyhow::Result<()> {
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.devtools("Emulation.setEmulatedMedia", features).await
    }

    /// A screen of so many pixels.
    ///
    /// # Errors
    /// As [`Browser::devtools`].
    pub async fn screen(&self, width: u32, height: u32) -> anyhow::Result<()> {
        let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.devtools("Emulation.setDeviceMetricsOverride", metrics).await
    }
}
