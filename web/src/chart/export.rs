//! Export of a chart as a standalone SVG file.

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{Element, XmlSerializer};

/// The CSS properties that are copied into the file, which has no style sheet.
const STYLES: [&str; 13] = [
    "fill",
    "fill-opacity",
    "stroke",
    "stroke-width",
    "stroke-dasharray",
    "stroke-linecap",
    "stroke-linejoin",
    "stroke-opacity",
    "opacity",
    "font-family",
    "font-size",
    "font-weight",
    "font-variant-numeric",
];

const SVG: &str = "http://www.w3.org/2000/svg";

/// Serialises a chart with its computed colours and fonts and the card's background.
pub fn standalone(drawing: &Element, title: &str) -> Option<String> {
    let copy: Element = drawing.clone_node_with_deep(true).ok()?.unchecked_into();
    style(drawing, &copy)?;
    let (originals, copies) = (drawing.query_selector_all("*").ok()?, copy.query_selector_all("*").ok()?);
    for index in 0..originals.length().min(copies.length()) {
        style(originals.item(index)?.unchecked_ref(), copies.item(index)?.unchecked_ref())?;
    }
    let ground = window().get_computed_style(&drawing.closest(".card").ok()??).ok()??;
    let ground = ground.get_property_value("background-color").ok()?;
    let element = |name: &str| document().create_element_ns(Some(SVG), name).ok();
    let (name, rect) = (element("title")?, element("rect")?);
    name.set_text_content(Some(title));
    for (attribute, value) in [("width", "100%"), ("height", "100%"), ("fill", ground.as_str())] {
        rect.set_attribute(attribute, value).ok()?;
    }
    copy.prepend_with_node_2(&name, &rect).ok()?;
    XmlSerializer::new().ok()?.serialize_to_string(&copy).ok()
}

fn style(from: &Element, to: &Element) -> Option<()> {
    let styles = window().get_computed_style(from).ok()??;
    for name in STYLES {
        let value = styles.get_property_value(name).ok()?;
        if !value.is_empty() {
            to.set_attribute(name, &value).ok()?;
        }
    }
    to.remove_attribute("class").ok()
}
