//! Session storage, which keeps texts of this tab across a reload.

use leptos::prelude::window;
use web_sys::Storage;

/// Returns what was kept under a key.
pub fn kept(key: &str) -> Option<String> {
    storage()?.get_item(key).ok().flatten()
}

/// Keeps a text; without effect if the storage is full or forbidden.
pub fn keep(key: &str, text: &str) {
    if let Some(storage) = storage() {
        let _ = storage.set_item(key, text);
    }
}

fn storage() -> Option<Storage> {
    window().session_storage().ok().flatten()
}
