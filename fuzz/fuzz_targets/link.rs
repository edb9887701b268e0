//! Links: any text opens or is refused, and what opens is written as a link that opens to the same.
//!
//! Few random texts pass the checksum of a link, so that the input is also taken as what the payload unpacks to.
#![no_main]

use foreglow_shared::{FRAGMENT_PREFIX, SHORT_PREFIX, ShortLink, View};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(text) = std::str::from_utf8(bytes) {
        check(text);
        // As a value of a link.
        if let Ok(view) = serde_json::from_str::<View>(text) {
            check(&view.to_fragment());
        }
        if let Ok(short) = serde_json::from_str::<ShortLink>(text) {
            check(&short.to_fragment());
        }
        for prefix in [FRAGMENT_PREFIX, SHORT_PREFIX] {
            check(&format!("{prefix}{text}"));
        }
    }
});

fn check(text: &str) {
    if let Ok(view) = View::from_link(text) {
        assert_eq!(View::from_link(&view.to_fragment()), Ok(view));
    }
    if let Ok(short) = ShortLink::from_fragment(text) {
        assert_eq!(ShortLink::from_fragment(&short.to_fragment()), Ok(short));
    }
}
