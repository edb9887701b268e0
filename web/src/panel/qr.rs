//! A link as a QR code.

use leptos::either::Either;
use leptos::prelude::*;
use qrcodegen::{QrCode, QrCodeEcc};

/// Width of the quiet zone that the standard requires, modules.
const QUIET: i32 = 4;

/// The QR code of the first text that one can hold, of version 40 at most, or a sentence if none.
pub fn qr_code(texts: &[String]) -> impl IntoView + use<> {
    let code = texts.iter().find_map(|text| QrCode::encode_text(text, QrCodeEcc::Low).ok());
    match code {
        None => Either::Left(view! {
            <p class="hush">"The link is too long for a QR code, which holds 2,953 characters; copy it instead."</p>
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
