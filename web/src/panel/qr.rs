//! The link as a QR code, as far as one holds it.

use leptos::either::Either;
use leptos::prelude::*;
use qrcodegen::{QrCode, QrCodeEcc};

/// A phone's camera reads larger ones off a screen only by luck: version 25 of 40.
const MOST_MODULES: i32 = 117;
/// Light modules around the code that the standard asks for.
const QUIET: i32 = 4;

/// The code of a text, or a sentence where it is too long for one.
pub fn qr_code(text: &str) -> impl IntoView + use<> {
    let code = QrCode::encode_text(text, QrCodeEcc::Low).ok().filter(|code| code.size() <= MOST_MODULES);
    match code {
        None => Either::Left(view! {
            <p class="hush">"The link is too long for a code that a phone reads. Leave runs out, or copy the link."</p>
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

/// The dark modules, each run of a row as one rectangle.
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
