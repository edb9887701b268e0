//! Features that WebDriver lacks, over the Chrome DevTools Protocol.

use serde_json::{Value, json};

use crate::Browser;

impl Browser {
    /// Sends a command of the protocol, such as `Emulation.setEmulatedMedia`, and returns its
    /// answer.
    ///
    /// # Errors
    /// The browser rejects the command.
    pub async fn devtools(&self, name: &'static str, parameters: Value) -> anyhow::Result<Value> {
        Ok(self.page.cdp().send_raw(name, parameters).await?)
    }

    /// Sets the preferred colour scheme, `light` or `dark`.
    ///
    /// # Errors
    /// As [`Browser::devtools`].
    pub async fn prefer(&self, scheme: &str) -> anyhow::Result<()> {
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.devtools("Emulation.setEmulatedMedia", features).await?;
        Ok(())
    }

    /// Sets the size of the screen, pixels.
    ///
    /// # Errors
    /// As [`Browser::devtools`].
    pub async fn screen(&self, width: u32, height: u32) -> anyhow::Result<()> {
        let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.devtools("Emulation.setDeviceMetricsOverride", metrics).await?;
        Ok(())
    }
}
