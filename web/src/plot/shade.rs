//! Colours of the series of a chart.

/// Number of colours.
pub const SHADES: usize = 6;

/// The class of the colour at a place, ordered so that neighbours differ most; of places without a
/// colour of their own, a neutral one.
pub fn shade(place: Option<usize>) -> String {
    const ORDER: [usize; SHADES] = [5, 1, 3, 0, 4, 2];
    place
        .filter(|place| *place < SHADES)
        .map_or_else(|| "shade-none".to_owned(), |place| format!("shade-{}", ORDER[place]))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    const SHEETS: [&str; 3] = [
        include_str!("../../assets/style.css"),
        include_str!("../../assets/charts.css"),
        include_str!("../../assets/pictures.css"),
    ];
    /// The least contrast of graphical objects, and of text, by WCAG 2.2.
    const OF_MARKS: f64 = 3.0;
    const OF_TEXT: f64 = 4.5;

    type Colour = [f64; 3];

    /// The colours that the style sheets name, in light or in dark.
    fn colours(is_dark: bool) -> BTreeMap<&'static str, Colour> {
        let mut colours = BTreeMap::new();
        for sheet in SHEETS {
            let (light, rest) = sheet.split_once("@media (prefers-color-scheme: dark)").unwrap_or((sheet, ""));
            let dark = rest.split_once("\n}\n").map_or("", |(dark, _)| dark);
            for line in light.lines().chain(dark.lines().filter(|_| is_dark)) {
                let value = line.trim().strip_suffix(';').and_then(|line| line.split_once(": #"));
                if let Some((name, hex)) = value.filter(|(name, hex)| name.starts_with("--") && hex.len() == 6) {
                    let part = |place| f64::from(u8::from_str_radix(&hex[place..place + 2], 16).unwrap()) / 255.0;
                    colours.insert(name, [0, 2, 4].map(part));
                }
            }
        }
        colours
    }

    /// The opacity in the rule of a selector.
    fn opacity(selector: &str, property: &str) -> f64 {
        let rule = SHEETS.iter().find_map(|sheet| sheet.split_once(&format!("\n{selector} {{\n"))).unwrap().1;
        let rule = rule.split_once('}').unwrap().0;
        let line = rule.lines().find_map(|line| line.trim().strip_prefix(property)?.strip_prefix(": "));
        line.map_or(1.0, |value| value.trim_end_matches(';').parse().unwrap())
    }

    fn mixed(over: Colour, under: Colour, opacity: f64) -> Colour {
        [0, 1, 2].map(|part| over[part] * opacity + under[part] * (1.0 - opacity))
    }

    fn luminance(colour: Colour) -> f64 {
        let linear = |part: f64| if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) };
        let [red, green, blue] = colour.map(linear);
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }

    fn contrast(a: Colour, b: Colour) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn every_dot_line_and_cell_has_a_contrast_of_3_to_the_card_and_numbers_on_cells_of_4_5() {
        for is_dark in [false, true] {
            let colours = colours(is_dark);
            let of = |name: &str| colours[name];
            let card = of("--card");
            let mut marks: Vec<(String, Colour)> = ["--hush", "--glow", "--bad", "--good", "--ink"]
                .into_iter()
                .map(str::to_owned)
                .chain((0..6).map(|shade| format!("--shade-{shade}")))
                .chain((0..9).map(|step| format!("--heat-{step}")))
                .map(|name| (name.clone(), of(&name)))
                .collect();
            for (selector, property, colour) in [
                (".cloud", "stroke-opacity", "--hush"),
                (".run.other", "opacity", "--hush"),
                (".key.cloud-key::before", "opacity", "--hush"),
            ] {
                marks.push((selector.to_owned(), mixed(of(colour), card, opacity(selector, property))));
            }
            for shade in 0..6 {
                let own = of(&format!("--shade-{shade}"));
                marks.push((format!(".cloud.own {shade}"), mixed(own, card, opacity(".cloud.own", "stroke-opacity"))));
            }
            for (name, colour) in marks {
                let contrast = contrast(colour, card);
                assert!(contrast >= OF_MARKS, "{name}, dark {is_dark}: {contrast:.2}");
            }
            for step in 0..9 {
                let text = match step {
                    0 => "--on-first",
                    1 | 2 => "--on-pale",
                    _ => "--on-deep",
                };
                let contrast = contrast(of(text), of(&format!("--heat-{step}")));
                assert!(contrast >= OF_TEXT, "the number on --heat-{step}, dark {is_dark}: {contrast:.2}");
            }
        }
    }
}
