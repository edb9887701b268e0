//! Merges the equal functions of a module and orders the others so that it compresses better:
//! similar functions follow each other. Neither has another effect.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use anyhow::{Context, Result, bail};
use wasmparser::{ElementItems, ExternalKind, FunctionBody, Operator, Parser, Payload, TypeRef};

/// Length of the byte sequences that similar functions share.
const SEQUENCE: usize = 4;
/// Sequences in more functions than this are ignored: they do not distinguish functions, and
/// comparing them is slow.
const COMMON: usize = 4000;
/// Exponent of a function's length in its score, so that long ones do not always come first.
const LENGTH_EXPONENT: f64 = 0.7;
/// Added to the number of sequences, because very short functions are similar by chance.
const SHORTEST: f64 = 4.0;
/// Number of the last functions to compare with the next one; each has half the weight of its
/// successor.
const RECENT: usize = 2;

/// Orders the functions of the module in a file.
///
/// # Errors
/// The file cannot be read or written, or is not a module.
pub fn order_functions(file: &Path) -> Result<()> {
    let wasm = std::fs::read(file).with_context(|| format!("reading {}", file.display()))?;
    let ordered = ordered(&wasm).with_context(|| format!("ordering the functions of {}", file.display()))?;
    std::fs::write(file, ordered).with_context(|| format!("writing {}", file.display()))
}

fn ordered(wasm: &[u8]) -> Result<Vec<u8>> {
    let mut imports = 0;
    let mut types: Vec<u32> = Vec::new();
    let mut bodies: Vec<FunctionBody<'_>> = Vec::new();
    for payload in Parser::new(0).parse_all(wasm) {
        match payload? {
            Payload::FunctionSection(section) => types = section.into_iter().collect::<Result<_, _>>()?,
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    imports += u32::from(matches!(import?.ty, TypeRef::Func(_)));
                }
            }
            Payload::CodeSectionEntry(body) => bodies.push(body),
            _ => {}
        }
    }
    let same = same_functions(wasm, imports, &types, &bodies)?;
    let kept: Vec<usize> = (0..bodies.len()).filter(|function| same[*function] as usize == *function).collect();
    let bytes: Vec<&[u8]> = kept.iter().map(|function| &wasm[bodies[*function].range()]).collect();
    let order: Vec<usize> = similar_next_to_each_other(&bytes).into_iter().map(|place| kept[place]).collect();
    let mut places = vec![0; bodies.len()];
    (0..).zip(&order).for_each(|(place, function)| places[*function] = place);
    let places = same.iter().map(|first| places[*first as usize]).collect();
    Renumbering { wasm, imports, order, places }.module(&bodies)
}

/// Returns for each function the first one of its type that does the same: whose code is equal if
/// calls of functions that do the same are equal.
fn same_functions(wasm: &[u8], imports: u32, types: &[u32], bodies: &[FunctionBody<'_>]) -> Result<Vec<u32>> {
    let mut same: Vec<u32> = (0..u32::try_from(bodies.len())?).collect();
    loop {
        let calls = Renumbering { wasm, imports, order: Vec::new(), places: same.clone() };
        let mut first: HashMap<(u32, Vec<u8>), u32> = HashMap::new();
        for ((place, body), function_type) in (0..).zip(bodies).zip(types) {
            same[place as usize] = *first.entry((*function_type, calls.body(body)?)).or_insert(place);
        }
        if same == calls.places {
            return Ok(same);
        }
    }
}

/// Starts with the first function and appends the unused one that shares the most sequences with
/// the last ones, for its length; if none shares any, the first unused one. The constants are those
/// of the smallest compressed module of the page.
fn similar_next_to_each_other(bodies: &[&[u8]]) -> Vec<usize> {
    let sequences: Vec<Vec<&[u8]>> = bodies
        .iter()
        .map(|body| {
            let mut sequences: Vec<&[u8]> = body.windows(SEQUENCE).collect();
            sequences.sort_unstable();
            sequences.dedup();
            sequences
        })
        .collect();
    let mut holders: HashMap<&[u8], Vec<usize>> = HashMap::new();
    for (function, sequences) in sequences.iter().enumerate() {
        for sequence in sequences {
            holders.entry(sequence).or_default().push(function);
        }
    }
    let lengths: Vec<f64> =
        sequences.iter().map(|sequences| (sequences.len() as f64 + SHORTEST).powf(LENGTH_EXPONENT)).collect();
    let mut is_used = vec![false; bodies.len()];
    let mut shared = vec![0.0; bodies.len()];
    let mut order: Vec<usize> = Vec::with_capacity(bodies.len());
    while order.len() < bodies.len() {
        let mut candidates = Vec::new();
        let mut weight = 1.0;
        for recent in order.iter().rev().take(RECENT) {
            for sequence in &sequences[*recent] {
                let holders = &holders[sequence];
                for function in holders.iter().filter(|function| holders.len() <= COMMON && !is_used[**function]) {
                    if shared[*function] == 0.0 {
                        candidates.push(*function);
                    }
                    shared[*function] += weight;
                }
            }
            weight /= 2.0;
        }
        let score = |function: usize| shared[function] / lengths[function];
        // Ties go to the first, so that the result does not depend on the order of the sequences.
        let best = candidates.iter().copied().max_by(|a, b| score(*a).total_cmp(&score(*b)).then(b.cmp(a)));
        let next = best.or_else(|| is_used.iter().position(|is_used| !is_used)).unwrap_or_default();
        candidates.iter().for_each(|function| shared[*function] = 0.0);
        is_used[next] = true;
        order.push(next);
    }
    order
}

/// A module whose functions get other indices.
struct Renumbering<'a> {
    wasm: &'a [u8],
    /// Number of imported functions, which keep their indices.
    imports: u32,
    /// The earlier place of each function that is kept.
    order: Vec<usize>,
    /// The new place of each function, or of the one that does the same.
    places: Vec<u32>,
}

impl Renumbering<'_> {
    /// Writes the module with the functions in the new order.
    fn module(&self, bodies: &[FunctionBody<'_>]) -> Result<Vec<u8>> {
        let mut module = Vec::with_capacity(self.wasm.len());
        for payload in Parser::new(0).parse_all(self.wasm) {
            let payload = payload?;
            if let Payload::Version { range, .. } = &payload {
                module.extend(&self.wasm[range.clone()]);
            }
            let Some((id, range)) = payload.as_section() else { continue };
            let content = match payload {
                Payload::FunctionSection(section) => {
                    let types = section.into_iter().collect::<Result<Vec<u32>, _>>()?;
                    self.in_order(|function, content| {
                        write_index(content, types[function]);
                        Ok(())
                    })?
                }
                Payload::CodeSectionStart { .. } => self.in_order(|function, content| {
                    let body = self.body(&bodies[function])?;
                    write_index(content, u32::try_from(body.len())?);
                    content.extend(body);
                    Ok(())
                })?,
                Payload::ExportSection(section) => {
                    let mut sites = Vec::new();
                    for export in section.into_iter_with_offsets() {
                        let (offset, export) = export?;
                        if export.kind == ExternalKind::Func {
                            // The length of the name, the name, the kind, the index.
                            sites.push(self.after_index(offset) + export.name.len() + 1);
                        }
                    }
                    self.renumbered(range, &sites)
                }
                Payload::ElementSection(section) => {
                    let mut sites = Vec::new();
                    for element in section {
                        let ElementItems::Functions(functions) = element?.items else {
                            bail!("a table is filled by expressions, whose functions cannot be renumbered");
                        };
                        for function in functions.into_iter_with_offsets() {
                            sites.push(function?.0);
                        }
                    }
                    self.renumbered(range, &sites)
                }
                Payload::GlobalSection(section) => {
                    for global in section {
                        for operator in global?.init_expr.get_operators_reader() {
                            if matches!(operator?, Operator::RefFunc { .. }) {
                                bail!("a global holds a function, which cannot be renumbered");
                            }
                        }
                    }
                    self.wasm[range].to_vec()
                }
                Payload::StartSection { .. } => self.renumbered(range.clone(), &[range.start]),
                // Names have the earlier indices; wasm-bindgen has removed them.
                Payload::CustomSection(section) if section.name() == "name" => continue,
                _ => self.wasm[range].to_vec(),
            };
            module.push(id);
            write_index(&mut module, u32::try_from(content.len())?);
            module.extend(content);
        }
        Ok(module)
    }

    /// A section with an item for each function that is kept, in the new order.
    fn in_order(&self, write: impl Fn(usize, &mut Vec<u8>) -> Result<()>) -> Result<Vec<u8>> {
        let mut content = Vec::new();
        write_index(&mut content, u32::try_from(self.order.len())?);
        for function in &self.order {
            write(*function, &mut content)?;
        }
        Ok(content)
    }

    fn body(&self, body: &FunctionBody<'_>) -> Result<Vec<u8>> {
        let mut sites = Vec::new();
        for operator in body.get_operators_reader()?.into_iter_with_offsets() {
            if let (Operator::Call { .. } | Operator::ReturnCall { .. } | Operator::RefFunc { .. }, offset) = operator?
            {
                // After the operator's byte.
                sites.push(offset + 1);
            }
        }
        Ok(self.renumbered(body.range(), &sites))
    }

    /// Copies a range with the new function indices at the sites, which are offsets in ascending
    /// order.
    fn renumbered(&self, range: Range<usize>, sites: &[usize]) -> Vec<u8> {
        let mut copy = Vec::with_capacity(range.len());
        let mut copied = range.start;
        for site in sites {
            let end = self.after_index(*site);
            copy.extend(&self.wasm[copied..*site]);
            let function = index(&self.wasm[*site..end]);
            let own = function.checked_sub(self.imports).and_then(|own| self.places.get(own as usize));
            write_index(&mut copy, own.map_or(function, |place| self.imports + place));
            copied = end;
        }
        copy.extend(&self.wasm[copied..range.end]);
        copy
    }

    /// The offset after the index at an offset: its last byte is the first below 128.
    fn after_index(&self, offset: usize) -> usize {
        offset + self.wasm[offset..].iter().take_while(|byte| **byte >= 128).count() + 1
    }
}

/// Reads an index (LEB128).
fn index(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |value, byte| value << 7 | u32::from(byte & 127))
}

/// Writes an index (LEB128).
fn write_index(to: &mut Vec<u8>, mut value: u32) {
    while value >= 128 {
        to.push(value as u8 | 128);
        value >>= 7;
    }
    to.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;
    use walrus::{FunctionBuilder, FunctionId, ModuleConfig, ValType};

    /// A module with an exported function per number, which returns the number through a call of
    /// the previous function.
    fn chain(numbers: &[i32]) -> Vec<u8> {
        let mut module = walrus::Module::with_config(ModuleConfig::new());
        let mut before: Option<FunctionId> = None;
        for number in numbers {
            let mut function = FunctionBuilder::new(&mut module.types, &[], &[ValType::I32]);
            let mut body = function.func_body();
            if let Some(before) = before {
                body.call(before).drop();
            }
            for _ in 0..number % 10 {
                body.i64_const(0x0123_4567_89ab_cdef).drop();
            }
            body.i32_const(*number);
            let id = function.finish(Vec::new(), &mut module.funcs);
            module.exports.add(&format!("f{number}"), id);
            before = Some(id);
        }
        module.emit_wasm()
    }

    /// The name of each exported function, with the number that it returns and the name of the
    /// function that it calls.
    fn calls(wasm: &[u8]) -> Vec<(String, i32, Option<String>)> {
        let module = walrus::Module::from_buffer(wasm).unwrap();
        let exported = |wanted: FunctionId| {
            let export = module
                .exports
                .iter()
                .find(|export| matches!(export.item, walrus::ExportItem::Function(id) if id == wanted));
            export.map(|export| export.name.clone())
        };
        let mut calls: Vec<_> = module
            .funcs
            .iter_local()
            .map(|(id, function)| {
                let (mut number, mut called) = (0, None);
                for (instruction, _) in &function.block(function.entry_block()).instrs {
                    match instruction {
                        walrus::ir::Instr::Const(walrus::ir::Const { value: walrus::ir::Value::I32(value) }) => {
                            number = *value;
                        }
                        walrus::ir::Instr::Call(call) => called = exported(call.func),
                        _ => {}
                    }
                }
                (exported(id).unwrap(), number, called)
            })
            .collect();
        calls.sort();
        calls
    }

    #[test]
    fn a_module_in_another_order_exports_and_calls_the_same_functions() {
        let wasm = chain(&[35, 14, 22, 36, 41, 15]);
        let ordered = ordered(&wasm).unwrap();
        assert_eq!(calls(&ordered), calls(&wasm));
        assert_eq!(calls(&ordered).len(), 6);
        assert_eq!(calls(&ordered)[0], ("f14".into(), 14, Some("f35".into())));
    }

    #[test]
    fn functions_that_do_the_same_are_merged_and_so_are_their_callers() {
        let mut module = walrus::Module::with_config(ModuleConfig::new());
        let mut add = |name: &str, called: Option<FunctionId>, number: i32| {
            let mut function = FunctionBuilder::new(&mut module.types, &[], &[ValType::I32]);
            let mut body = function.func_body();
            if let Some(called) = called {
                body.call(called).drop();
            }
            body.i32_const(number);
            let id = function.finish(Vec::new(), &mut module.funcs);
            module.exports.add(name, id);
            id
        };
        let (first, second, other) = (add("a", None, 1), add("b", None, 1), add("c", None, 2));
        for (name, called) in [("d", first), ("e", second), ("f", other)] {
            add(name, Some(called), 3);
        }
        let merged = walrus::Module::from_buffer(&ordered(&module.emit_wasm()).unwrap()).unwrap();
        assert_eq!(merged.funcs.iter_local().count(), 4);
        let function = |name: &str| {
            let export = merged.exports.iter().find(|export| export.name == name).unwrap();
            let walrus::ExportItem::Function(id) = export.item else { panic!("{name} is a function") };
            id
        };
        assert_eq!((function("a"), function("d")), (function("b"), function("e")));
        assert!(function("a") != function("c") && function("d") != function("f"));
    }

    #[test]
    fn functions_follow_the_ones_that_they_resemble() {
        let bodies: [&[u8]; 4] =
            [b"one long beginning 1", b"something else 2", b"one long beginning 3", b"something else 4"];
        assert_eq!(similar_next_to_each_other(&bodies), [0, 2, 1, 3]);
        assert_eq!(similar_next_to_each_other(&[]), [0; 0]);
    }

    #[test]
    fn an_index_is_read_as_it_was_written() {
        for value in [0, 127, 128, 9_660, u32::MAX] {
            let mut bytes = Vec::new();
            write_index(&mut bytes, value);
            assert_eq!(index(&bytes), value);
        }
    }

    #[test]
    fn a_file_that_is_no_module_is_refused() {
        assert!(ordered(b"not wasm").is_err());
    }
}
