//! Markup built as text. Setting one text is much faster than creating a thousand nodes with a
//! browser call per attribute, and an unchanged text is not drawn again.

use foreglow_shared::distinct;
use std::fmt::{Display, Write};

/// SVG or HTML in which all inserted values are escaped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Markup(String);

/// Names and values of attributes.
pub type Attributes<'a> = &'a [(&'static str, &'a dyn Display)];

impl Markup {
    /// Empty markup.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends an element without content.
    pub fn shape(&mut self, name: &'static str, attributes: Attributes) {
        self.open(name, attributes);
        self.close(name);
    }

    /// Appends an element with text.
    pub fn words(&mut self, name: &'static str, attributes: Attributes, words: &str) {
        self.open(name, attributes);
        // Writing to a `String` cannot fail.
        let _ = Escaped(&mut self.0).write_str(words);
        self.close(name);
    }

    /// Appends an element with other elements inside.
    pub fn holding(&mut self, name: &'static str, attributes: Attributes, inner: &Self) {
        self.open(name, attributes);
        self.add(inner);
        self.close(name);
    }

    /// Appends an element of a class with other elements inside.
    pub fn group(&mut self, name: &'static str, class: &str, inner: &Self) {
        self.holding(name, &[("class", &class)], inner);
    }

    /// Appends other markup.
    pub fn add(&mut self, other: &Self) {
        self.0.push_str(&other.0);
    }

    /// Appends a line between two points.
    pub fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        self.shape("line", &[("x1", &x1), ("y1", &y1), ("x2", &x2), ("y2", &y2)]);
    }

    /// Appends a circle.
    pub fn circle(&mut self, class: &str, (cx, cy): (f64, f64), r: f64) {
        self.shape("circle", &[("class", &class), ("cx", &cx), ("cy", &cy), ("r", &r)]);
    }

    /// Appends circles as a single path, because thousands of elements would each be styled and
    /// laid out. Circles within a tenth of a pixel are merged.
    pub fn circles(&mut self, class: &str, points: Vec<(f64, f64)>, r: f64) {
        const STEPS: f64 = 10.0;
        let place = |(x, y): (f64, f64)| [x, y].map(|px| (px * STEPS).round() as i32);
        let mut path = String::new();
        for [x, y] in distinct(points.into_iter().map(place)) {
            let (left, middle) = (f64::from(x) / STEPS - r, f64::from(y) / STEPS);
            // Writing to a `String` cannot fail.
            let _ = write!(path, "M{left:.1} {middle:.1}a{r} {r} 0 1 0 {0} 0a{r} {r} 0 1 0 -{0} 0", 2.0 * r);
        }
        if !path.is_empty() {
            self.path(class, &path);
        }
    }

    /// Appends a path.
    pub fn path(&mut self, class: &str, path: &str) {
        self.shape("path", &[("class", &class), ("d", &path)]);
    }

    /// Appends text with its start, middle or end at a point.
    pub fn label(&mut self, (x, y): (f64, f64), anchor: &str, words: &str) {
        self.words("text", &[("x", &x), ("y", &y), ("text-anchor", &anchor)], words);
    }

    /// Returns the markup as text.
    pub fn into_text(self) -> String {
        self.0
    }

    fn open(&mut self, name: &str, attributes: Attributes) {
        self.0.push('<');
        self.0.push_str(name);
        for (attribute, value) in attributes {
            self.0.push(' ');
            self.0.push_str(attribute);
            self.0.push_str("=\"");
            // Writing to a `String` cannot fail.
            let _ = write!(Escaped(&mut self.0), "{value}");
            self.0.push('"');
        }
        self.0.push('>');
    }

    // An explicit end tag, because HTML has no self-closing elements.
    fn close(&mut self, name: &str) {
        self.0.push_str("</");
        self.0.push_str(name);
        self.0.push('>');
    }
}

/// A writer that escapes the special characters of markup.
struct Escaped<'a>(&'a mut String);

impl Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        for piece in text.split_inclusive(['&', '<', '>', '"']) {
            let (plain, letter) = match piece.as_bytes().last() {
                Some(b'&') => (&piece[..piece.len() - 1], "&amp;"),
                Some(b'<') => (&piece[..piece.len() - 1], "&lt;"),
                Some(b'>') => (&piece[..piece.len() - 1], "&gt;"),
                Some(b'"') => (&piece[..piece.len() - 1], "&quot;"),
                _ => (piece, ""),
            };
            self.0.push_str(plain);
            self.0.push_str(letter);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inserted_text_cannot_open_an_element_or_end_an_attribute() {
        let mut inner = Markup::new();
        inner.words("text", &[("class", &"\"><script>")], "a < b & \"c\" </text><script>");
        let mut outer = Markup::new();
        outer.group("g", "marks", &inner);
        assert_eq!(
            outer.into_text(),
            "<g class=\"marks\"><text class=\"&quot;&gt;&lt;script&gt;\">a &lt; b &amp; &quot;c&quot; \
             &lt;/text&gt;&lt;script&gt;</text></g>"
        );
    }

    #[test]
    fn circles_form_one_path_and_coinciding_ones_are_merged() {
        let mut markup = Markup::new();
        markup.circles("run", vec![(20.0, 7.26), (10.0, 5.0), (10.01, 4.98)], 4.5);
        let ring = "a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0";
        assert_eq!(markup.into_text(), format!("<path class=\"run\" d=\"M5.5 5.0{ring}M15.5 7.3{ring}\"></path>"));
        let mut none = Markup::new();
        none.circles("run", Vec::new(), 4.5);
        assert_eq!(none, Markup::new());
    }

    #[test]
    fn numbers_are_written_with_all_their_digits() {
        let mut markup = Markup::new();
        markup.line((0.5, 1.0), (62.0, 0.1 + 0.2));
        assert_eq!(markup.into_text(), "<line x1=\"0.5\" y1=\"1\" x2=\"62\" y2=\"0.30000000000000004\"></line>");
    }
}
