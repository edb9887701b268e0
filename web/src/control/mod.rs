//! Controls and tools that charts and panels share.

mod clipboard;
mod download;
mod focus;
mod later;
mod pin_button;
mod why_button;

pub use self::clipboard::{Command, CopyButton, copy};
pub use self::download::download;
pub use self::focus::{focus, refocus};
pub use self::later::{Later, later, leave_time_for_frames, next};
pub use self::pin_button::PinButton;
pub use self::why_button::WhyButton;
