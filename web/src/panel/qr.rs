//! The link as a QR code, if it is short enough.

use leptos::either::Either;
use leptos::prelude::*;
use qrcodegen::{QrCode, QrCodeEcc};

/// Maximum side in modules, that of version 25 of 40: phone cameras read larger codes unreliably
/// off a screen.
const MOST_MODULES: i32 = 117;
/// Width of the quiet zone that the standard requires, modules.
const QUIET: i32 = 4;

/// The QR code of a text, or a sentence if the text is too long.
pub fn qr_code(text: &str) -> impl IntoView + use<> {
    let code = QrCode::encode_text(text, QrCodeEcc::Low).ok().filter(|code| code.size() <= MOST_MODULES);
    match code {
        None => Either::Left(view! {
            <p class="hush">"The link is too long for a QR code that phones can read; copy it instead."</p>
        }),
        Some(code) => {
            let side = code.size() + 2 * QUIET;
            Either::Right(view! {
                <svg
                    class="qr-code"
                    viewBox=format!("0 0 {side} {side}")
                    shape-rendering="crispEdges"
                    role="img"
                    aria-label="QR code of the link"
                    data-testid="qr-code"
                >
                    <rect width=side.to_string() height=side.to_string() fill="#fff" />
                    <path d=path(&code) fill="#000" />
                </svg>
            })
        }
    }
}

/// The dark modules as a path, with one rectangle per horizontal run.
fn path(code: &QrCode) -> String {
    let mut path = String::new();
    for y in 0..code.size() {
        let mut x = 0;
        while x < code.size() {
            let start = x;
            while code.get_module(x, y) {
                x += 1;
            }
            if x > start {
                let width = x - start;
                path.push_str(&format!("M{} {}h{width}v1h-{width}z", start + QUIET, y + QUIET));
            }
            x += 1;
        }
    }
    path
}
