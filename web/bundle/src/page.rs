//! Parsing of the root `index.html`: the links that trunk handles, and the resulting page.

use anyhow::{Context, Result, bail};

/// The script that loads the module. It is a file because the policy forbids inline scripts.
pub const START_SCRIPT: &str = "start.js";

/// The style sheet, which combines all of them to save requests and to compress better.
pub const STYLE: &str = "style.css";

/// The service worker, which caches the page for use without a network.
pub const SERVICE_WORKER: &str = "service-worker.js";

/// The worker that loads the comparison of all learners.
pub const COMPARISON_WORKER: &str = "comparison-worker.js";

/// Its replacement in a build without the comparison, which reports that.
pub const NO_COMPARISON: &str = "no-comparison-worker.js";

/// Allows only the page's own files and its own collector. WebAssembly compilation requires
/// `wasm-unsafe-eval`.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; \
     style-src 'self'; img-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'";

/// A file that the page needs.
#[derive(Debug, PartialEq)]
pub enum Asset<'a> {
    /// Copied unchanged.
    Copied {
        /// Path relative to the folder of `index.html`.
        href: &'a str,
    },
    /// Part of the style sheet.
    Style {
        /// Path relative to the folder of `index.html`.
        href: &'a str,
    },
    /// The wasm module and its glue.
    Program {
        /// Name of the package, from which the file names are derived.
        name: &'a str,
    },
}

/// `index.html`, split at the links that trunk handles.
#[derive(Debug)]
pub struct Page<'a> {
    pieces: Vec<Piece<'a>>,
}

#[derive(Debug)]
enum Piece<'a> {
    Text(&'a str),
    Link { rel: &'a str, href: &'a str },
}

/// The package of `href="web/Cargo.toml"`. Trunk derives the same file name, which the worker
/// imports.
const PROGRAM: &str = "foreglow-web";

impl<'a> Page<'a> {
    /// Finds the links.
    ///
    /// # Errors
    /// A link has no `href` or `rel`, is of an unknown kind, or is not closed.
    pub fn parse(html: &'a str) -> Result<Self> {
        let mut pieces = Vec::new();
        let mut rest = html;
        while let Some(start) = rest.find("<link data-trunk") {
            let (text, tag) = rest.split_at(start);
            let end = tag.find('>').context("a <link data-trunk …> in index.html has no end")?;
            let (tag, after) = tag.split_at(end + 1);
            let rel = attribute(tag, "rel").with_context(|| format!("{tag} has no rel"))?;
            let href = attribute(tag, "href").with_context(|| format!("{tag} has no href"))?;
            if !["rust", "css", "icon", "copy-file"].contains(&rel) {
                bail!("{tag}: foreglow-bundle knows rel=\"rust\", \"css\", \"icon\" and \"copy-file\"");
            }
            pieces.extend([Piece::Text(text), Piece::Link { rel, href }]);
            rest = after;
        }
        pieces.push(Piece::Text(rest));
        Ok(Self { pieces })
    }

    /// The files that the page needs.
    pub fn assets(&self) -> impl Iterator<Item = Asset<'a>> {
        self.pieces.iter().filter_map(|piece| match *piece {
            Piece::Text(_) => None,
            Piece::Link { rel: "rust", .. } => Some(Asset::Program { name: PROGRAM }),
            Piece::Link { rel: "css", href } => Some(Asset::Style { href }),
            Piece::Link { href, .. } => Some(Asset::Copied { href }),
        })
    }

    /// The page with relative URLs, so that it works in any folder of any file host.
    pub fn html(&self) -> String {
        let mut has_style = false;
        let html: String = self
            .pieces
            .iter()
            .map(|piece| match piece {
                Piece::Text(text) => (*text).to_owned(),
                Piece::Link { rel: "css", .. } if std::mem::replace(&mut has_style, true) => String::new(),
                Piece::Link { rel: "css", .. } => format!(r#"<link rel="stylesheet" href="./{STYLE}" />"#),
                Piece::Link { rel: "icon", href } => format!(r#"<link rel="icon" href="./{}" />"#, name(href)),
                Piece::Link { rel: "rust", .. } => format!(
                    "<link rel=\"modulepreload\" href=\"./{PROGRAM}.js\" />\n    \
                     <link rel=\"preload\" href=\"./{PROGRAM}_bg.wasm\" as=\"fetch\" type=\"application/wasm\" crossorigin />\n    \
                     <script type=\"module\" src=\"./{START_SCRIPT}\"></script>"
                ),
                Piece::Link { .. } => String::new(),
            })
            .collect();
        let policy =
            format!("\n    <meta http-equiv=\"Content-Security-Policy\" content=\"{CONTENT_SECURITY_POLICY}\" />");
        html.replacen("<meta charset=\"utf-8\" />", &format!("<meta charset=\"utf-8\" />{policy}"), 1)
    }

    /// The script that loads the module and reports a failure on the page.
    pub fn start_script(&self) -> String {
        format!(
            r#"import init from "./{PROGRAM}.js";

init({{ module_or_path: new URL("./{PROGRAM}_bg.wasm", import.meta.url) }}).catch((error) => {{
  const boot = document.getElementById("boot");
  if (boot) {{
    boot.setAttribute("role", "alert");
    boot.textContent = `The planner could not start (${{error}}). Reload the page; if this persists, try a current browser.`;
  }}
}});

// Makes the page work without a network after the first visit. Browsers on plain HTTP have no
// service workers.
if ("serviceWorker" in navigator) {{
  addEventListener("load", () => navigator.serviceWorker.register("./{SERVICE_WORKER}").catch(() => {{}}));
}}
"#
        )
    }
}

/// Minifies a style sheet: removes comments, indentation and empty lines.
pub fn without_comments(css: &str) -> String {
    let mut plain = String::new();
    let mut rest = css;
    while let Some((before, comment)) = rest.split_once("/*") {
        plain.push_str(before);
        rest = comment.split_once("*/").map_or("", |(_, after)| after);
    }
    plain.push_str(rest);
    plain.lines().map(str::trim).filter(|line| !line.is_empty()).map(|line| format!("{line}\n")).collect()
}

fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let opening = format!(" {name}=\"");
    let start = tag.find(&opening)? + opening.len();
    let value = &tag[start..];
    Some(&value[..value.find('"')?])
}

fn name(href: &str) -> &str {
    href.rsplit('/').next().unwrap_or(href)
}

#[cfg(test)]
mod tests {
    use super::*;

    const INDEX: &str = include_str!("../../../index.html");

    #[test]
    fn every_link_of_our_page_becomes_a_file_beside_it() {
        let page = Page::parse(INDEX).unwrap();
        let assets: Vec<Asset> = page.assets().collect();
        assert!(assets.contains(&Asset::Program { name: "foreglow-web" }));
        assert!(assets.contains(&Asset::Style { href: "web/assets/style.css" }));
        assert!(assets.contains(&Asset::Copied { href: "web/assets/fit-worker.js" }));
    }

    #[test]
    fn the_page_has_a_policy_no_inline_script_and_no_other_origin() {
        let html = Page::parse(INDEX).unwrap().html();
        assert!(html.contains("script-src 'self' 'wasm-unsafe-eval'"));
        assert!(!html.contains("data-trunk"));
        assert!(!html.contains("<script>") && !html.contains("://"));
        assert_eq!(html.matches("<script").count(), 1);
        assert!(html.contains(r#"href="./style.css""#) && html.contains(r#"src="./start.js""#));
        assert_eq!(html.matches(".css").count(), 1);
    }

    #[test]
    fn a_style_sheet_loses_its_comments_and_nothing_else() {
        let css = "/* Charts,\n   all of them */\n.chart {\n  gap: 6px; /* small */\n}\n\n.a::before {\n  content: \"\";\n}\n";
        assert_eq!(without_comments(css), ".chart {\ngap: 6px;\n}\n.a::before {\ncontent: \"\";\n}\n");
    }

    #[test]
    fn a_link_of_an_unknown_kind_is_rejected() {
        let error = Page::parse(r#"<link data-trunk rel="sass" href="a.scss" />"#).unwrap_err();
        assert!(error.to_string().contains("copy-file"));
    }
}
