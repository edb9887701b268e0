//! Rebuilds the crate when the Spark driver, which it embeds, has changed.

#[path = "../embedding.rs"]
mod embedding;

fn main() {
    println!("cargo::rerun-if-changed=../embedding.rs");
    embedding::watch("../../target/spark");
}
