//! Names of networks as users write them.

/// Names in torchvision, and the names of the same networks in timm, which the tables use.
/// Sources: the lists of models of both libraries (torchvision 0.29, timm 1.0).
const TORCHVISION: [(&str, &str); 31] = [
    ("maxvit_t", "maxvit_tiny_tf_224"),
    ("mnasnet0_5", "mnasnet_050"),
    ("mnasnet0_75", "mnasnet_075"),
    ("mnasnet1_0", "mnasnet_100"),
    ("mobilenet_v3_large", "mobilenetv3_large_100"),
    ("mobilenet_v3_small", "mobilenetv3_small_100"),
    ("regnet_x_400mf", "regnetx_004"),
    ("regnet_x_800mf", "regnetx_008"),
    ("regnet_x_1_6gf", "regnetx_016"),
    ("regnet_x_3_2gf", "regnetx_032"),
    ("regnet_x_8gf", "regnetx_080"),
    ("regnet_x_16gf", "regnetx_160"),
    ("regnet_x_32gf", "regnetx_320"),
    ("regnet_y_400mf", "regnety_004"),
    ("regnet_y_800mf", "regnety_008"),
    ("regnet_y_1_6gf", "regnety_016"),
    ("regnet_y_3_2gf", "regnety_032"),
    ("regnet_y_8gf", "regnety_080"),
    ("regnet_y_16gf", "regnety_160"),
    ("regnet_y_32gf", "regnety_320"),
    ("swin_b", "swin_base_patch4_window7_224"),
    ("swin_s", "swin_small_patch4_window7_224"),
    ("swin_t", "swin_tiny_patch4_window7_224"),
    ("swin_v2_b", "swinv2_base_window8_256"),
    ("swin_v2_s", "swinv2_small_window8_256"),
    ("swin_v2_t", "swinv2_tiny_window8_256"),
    ("vit_b_16", "vit_base_patch16_224"),
    ("vit_b_32", "vit_base_patch32_224"),
    ("vit_h_14", "vit_huge_patch14_224"),
    ("vit_l_16", "vit_large_patch16_224"),
    ("vit_l_32", "vit_large_patch32_224"),
];

/// Returns the name among `known` that a user means: the same, the same without regard to case and
/// punctuation (`ResNet-50`), after the owner of a repository (`microsoft/resnet-50`), or
/// torchvision's (`vit_b_16`).
pub(crate) fn meant<'k>(asked: &str, known: &(impl Iterator<Item = &'k str> + Clone)) -> Option<&'k str> {
    if let Some(same) = known.clone().find(|name| *name == asked) {
        return Some(same);
    }
    // Other first letters begin the path of a file.
    let asked = Some(asked).filter(|asked| asked.starts_with(|letter: char| letter.is_ascii_alphanumeric()))?;
    let after_owner = asked.split_once('/').map(|(_, name)| name).filter(|name| !name.contains('/'));
    let forms = [Some(asked), after_owner].into_iter().flatten().map(plain);
    forms.map(in_timm).find_map(|form| known.clone().find(|name| plain(name) == form))
}

/// The plain form of timm's name for one of torchvision's; other forms stay.
fn in_timm(form: String) -> String {
    let of_torchvision = TORCHVISION.iter().find(|(of_torchvision, _)| plain(of_torchvision) == form);
    of_torchvision.map_or(form, |(_, of_timm)| plain(of_timm))
}

/// Lower-case letters and digits alone, and `_` between digits: 1.6 is not 16.
fn plain(name: &str) -> String {
    let mut plain = String::new();
    let mut follows_other = false;
    for letter in name.chars() {
        if letter.is_ascii_alphanumeric() {
            let is_apart =
                follows_other && letter.is_ascii_digit() && plain.ends_with(|last: char| last.is_ascii_digit());
            plain.extend(is_apart.then_some('_'));
            plain.push(letter.to_ascii_lowercase());
        }
        follows_other = !letter.is_ascii_alphanumeric();
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Measurements;

    #[test]
    fn networks_are_found_as_users_write_them() {
        let table = Measurements::built_in();
        let meant = |asked: &str| table.network_name(asked).map(str::to_owned);
        for (asked, expected) in [
            ("resnet50", "resnet50"),
            ("ResNet-50", "resnet50"),
            ("microsoft/resnet-50", "resnet50"),
            ("google/vit-base-patch16-224", "vit_base_patch16_224"),
            ("ViT-B/16", "vit_base_patch16_224"),
            ("mobilenet_v3_large", "mobilenetv3_large_100"),
            ("mobilenet_v2", "mobilenet_v2"),
        ] {
            assert_eq!(meant(asked).as_deref(), Some(expected), "{asked}");
        }
        for asked in ["", "resnet5O", "./resnet50", "/data/runs/resnet50", "runs/old/resnet50"] {
            assert_eq!(meant(asked), None, "{asked}");
        }
        for (of_torchvision, of_timm) in TORCHVISION {
            assert_eq!(meant(of_torchvision).as_deref(), Some(of_timm));
        }
    }
}
