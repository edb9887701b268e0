//! Files that the user downloads.

use js_sys::{Array, Uint8Array};
use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{Blob, BlobPropertyBag, HtmlAnchorElement, Url};

/// Downloads a text as a file. Its contents never leave the browser.
pub fn download(name: &str, kind: &str, text: &str) {
    let parts = Array::of1(&Uint8Array::from(text.as_bytes()));
    let properties = BlobPropertyBag::new();
    properties.set_type(kind);
    let Ok(blob) = Blob::new_with_u8_array_sequence_and_options(&parts, &properties) else { return };
    let Ok(address) = Url::create_object_url_with_blob(&blob) else { return };
    let link = document().create_element("a").ok().and_then(|link| link.dyn_into::<HtmlAnchorElement>().ok());
    if let Some(link) = link {
        link.set_href(&address);
        link.set_download(name);
        link.click();
    }
    // The download has started. If revoking fails, only a little memory is lost.
    let _ = Url::revoke_object_url(&address);
}
