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
