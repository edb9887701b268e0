//! Links: any text is parsed or rejected, and a parsed link round-trips.
//!
//! Random texts rarely pass a link's checksum, so the input is also used as the unpacked payload.
//! It is also read as a setting that follows the payload.
#![no_main]

use foreglow_shared::{FRAGMENT_PREFIX, LinkSetting, SHORT_PREFIX, ShortLink, View};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(text) = std::str::from_utf8(bytes) {
        check(text);
        // The input as the payload of a link.
        if let Ok(view) = serde_json::from_str::<View>(text) {
            check(&view.to_fragment());
        }
        if let Ok(short) = serde_json::from_str::<ShortLink>(text) {
            check(&short.to_fragment());
        }
        if let Some(Ok(setting)) = LinkSetting::read(text) {
            assert_eq!(LinkSetting::read(&setting.to_string()), Some(Ok(setting)));
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
