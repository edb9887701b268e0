//! The machine type of a rented machine, from its firmware.

use std::path::Path;

/// Folder of the identification of a machine (DMI).
const DMI: &str = "/sys/class/dmi/id";

/// Returns the machine type of this machine, such as `c5.xlarge`; `None` if it is not rented, or
/// the cloud does not name the type.
pub fn machine_type() -> Option<String> {
    let read = |field: &str| std::fs::read_to_string(Path::new(DMI).join(field)).unwrap_or_default();
    identified(&read("sys_vendor"), &read("product_name"))
}

/// Of the large clouds, only Amazon puts the machine type into the product name, on machines of its
/// Nitro system. Google writes `Google Compute Engine` and Microsoft `Virtual Machine`.
fn identified(vendor: &str, product: &str) -> Option<String> {
    let product = product.trim();
    let (family, size) = product.split_once('.')?;
    let is_word = |word: &str| {
        !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    };
    (vendor.trim() == "Amazon EC2" && is_word(family) && is_word(size)).then(|| product.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amazon_names_the_machine_type_and_others_do_not() {
        let of = |vendor: &str, product: &str| identified(vendor, product);
        assert_eq!(of("Amazon EC2\n", "c5.xlarge\n").as_deref(), Some("c5.xlarge"));
        assert_eq!(of("Amazon EC2\n", "u-6tb1.112xlarge\n").as_deref(), Some("u-6tb1.112xlarge"));
        assert_eq!(of("Xen\n", "HVM domU\n"), None);
        assert_eq!(of("Google\n", "Google Compute Engine\n"), None);
        assert_eq!(of("Microsoft Corporation\n", "Virtual Machine\n"), None);
        assert_eq!(of("Dell Inc.\n", "PowerEdge R7.50\n"), None);
        assert_eq!(of("", ""), None);
    }
}
