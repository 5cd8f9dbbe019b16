//! The capacities of arrays, as far as declarations and constants tell.
//!
//! Arrays of bytes only. A member is known by its name alone, unless structures differ in it. Must
//! not know: what is put there.

use super::format::literal;
use crate::library::children;
use crate::scope::declared;
use std::collections::BTreeMap;
use tree_sitter::{Node, Parser};

/// Types of one byte.
const BYTES: [&str; 6] = [
    "char",
    "unsigned char",
    "signed char",
    "uint8_t",
    "int8_t",
    "const char",
];

/// Deeper expressions are no sizes.
const DEPTH: usize = 20;

/// What declarations say of capacities.
#[derive(Debug, Default)]
pub struct Buffers {
    constants: BTreeMap<String, u64>,
    /// Types that are arrays.
    types: BTreeMap<String, u64>,
    /// Of members; none where structures differ.
    members: BTreeMap<String, Option<u64>>,
    /// Of members that are several arrays.
    rows: BTreeMap<String, u64>,
}

/// An array of bytes, and whether there are several of it.
pub struct Buffer {
    pub name: String,
    pub bytes: u64,
    pub many: bool,
}

impl Buffers {
    /// Reads constants and structures.
    pub fn read(&mut self, text: &str, root: Node<'_>, parser: &mut Parser) {
        let mut todo = vec![root];
        let mut fields = Vec::new();
        while let Some(node) = todo.pop() {
            match node.kind() {
                "enumerator_list" => self.enumerators(text, node),
                "preproc_def" => self.define(text, node, parser),
                "type_definition" => self.define_type(text, node),
                "field_declaration" => fields.push(node),
                _ => {}
            }
            // From the first on, since constants use what stands before them.
            let mut below = children(node);
            below.reverse();
            todo.extend(below);
        }
        for field in fields {
            let arrays = self.declared(text, field).into_iter();
            let arrays: BTreeMap<String, Buffer> =
                arrays.map(|buffer| (buffer.name.clone(), buffer)).collect();
            let mut cursor = field.walk();
            let names = field.children_by_field_name("declarator", &mut cursor);
            for name in names.filter_map(declared) {
                let name = &text[name.byte_range()];
                let buffer = arrays.get(name);
                if let Some(buffer) = buffer.filter(|buffer| buffer.many) {
                    self.rows.insert(name.to_string(), buffer.bytes);
                }
                let bytes = buffer
                    .filter(|buffer| !buffer.many)
                    .map(|buffer| buffer.bytes);
                let known = self.members.entry(name.to_string()).or_insert(bytes);
                if *known != bytes {
                    *known = None;
                }
            }
        }
    }

    /// The capacity of a member of that name.
    pub fn member(&self, name: &str) -> Option<u64> {
        match name.strip_suffix("[]") {
            Some(name) => self.rows.get(name).copied(),
            None => self.members.get(name).copied().flatten(),
        }
    }

    /// The arrays of bytes that a declaration declares.
    pub fn declared(&self, text: &str, declaration: Node<'_>) -> Vec<Buffer> {
        let of = declaration.child_by_field_name("type");
        let of = of.map_or("", |t| &text[t.byte_range()]);
        let mut cursor = declaration.walk();
        if let Some(bytes) = self.types.get(of) {
            let all = declaration.children_by_field_name("declarator", &mut cursor);
            let plain = all.filter(|d| matches!(d.kind(), "identifier" | "field_identifier"));
            let buffer = |d: Node<'_>| Buffer {
                name: text[d.byte_range()].to_string(),
                bytes: *bytes,
                many: false,
            };
            return plain.map(buffer).collect();
        }
        if !is_byte(of) {
            return Vec::new();
        }
        let mut cursor = declaration.walk();
        let all = declaration.children_by_field_name("declarator", &mut cursor);
        all.filter_map(|d| self.array(text, d)).collect()
    }

    fn array(&self, text: &str, declarator: Node<'_>) -> Option<Buffer> {
        let mut node = declarator;
        if node.kind() == "init_declarator" {
            node = node.child_by_field_name("declarator")?;
        }
        if node.kind() != "array_declarator" {
            return None;
        }
        let inner = node.child_by_field_name("declarator")?;
        let bytes = match node.child_by_field_name("size") {
            Some(size) => self.size(text, size, 0)?,
            // As much as its text needs.
            None => {
                let value = declarator.child_by_field_name("value")?;
                literal(&text[value.byte_range()])?.len() as u64 + 1
            }
        };
        let many = inner.kind() == "array_declarator";
        let named = if many {
            inner.child_by_field_name("declarator")?
        } else {
            inner
        };
        let name = matches!(named.kind(), "identifier" | "field_identifier");
        name.then(|| Buffer {
            name: text[named.byte_range()].to_string(),
            bytes,
            many,
        })
    }

    /// The value of a constant expression.
    pub fn size(&self, text: &str, node: Node<'_>, depth: usize) -> Option<u64> {
        let word = &text[node.byte_range()];
        let operand = |name| self.size(text, node.child_by_field_name(name)?, depth + 1);
        if depth > DEPTH {
            return None;
        }
        match node.kind() {
            "number_literal" => number(word),
            "identifier" => self.constants.get(word).copied(),
            "parenthesized_expression" => match children(node).as_slice() {
                [inner] => self.size(text, *inner, depth + 1),
                _ => None,
            },
            "binary_expression" => {
                let (left, right) = (operand("left")?, operand("right")?);
                match node.child_by_field_name("operator")?.kind() {
                    "+" => left.checked_add(right),
                    "-" => left.checked_sub(right),
                    "*" => left.checked_mul(right),
                    "/" => left.checked_div(right),
                    "<<" => left.checked_shl(u32::try_from(right).ok()?),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn define_type(&mut self, text: &str, node: Node<'_>) {
        let of = node.child_by_field_name("type");
        let declarator = node.child_by_field_name("declarator");
        let (Some(of), Some(array)) = (of, declarator) else {
            return;
        };
        let name = array.child_by_field_name("declarator");
        let size = array.child_by_field_name("size");
        let (true, Some(name), Some(size)) = (BYTES.contains(&&text[of.byte_range()]), name, size)
        else {
            return;
        };
        let array = array.kind() == "array_declarator" && name.kind() == "type_identifier";
        let bytes = self.size(text, size, 0).filter(|_| array);
        if let Some(bytes) = bytes {
            self.types
                .insert(text[name.byte_range()].to_string(), bytes);
        }
    }

    fn enumerators(&mut self, text: &str, list: Node<'_>) {
        let mut next = Some(0);
        for one in children(list).iter().filter(|n| n.kind() == "enumerator") {
            if let Some(value) = one.child_by_field_name("value") {
                next = self.size(text, value, 0);
            }
            if let (Some(name), Some(value)) = (one.child_by_field_name("name"), next) {
                self.constants
                    .insert(text[name.byte_range()].to_string(), value);
            }
            next = next.and_then(|n: u64| n.checked_add(1));
        }
    }

    fn define(&mut self, text: &str, node: Node<'_>, parser: &mut Parser) {
        let field = |name| Some(&text[node.child_by_field_name(name)?.byte_range()]);
        let (Some(name), Some(value)) = (field("name"), field("value")) else {
            return;
        };
        let value = format!("int x = {value};");
        let tree = parser.parse(&value, None);
        let found = tree.as_ref().and_then(|tree| {
            let root = tree.root_node();
            let declarator = root.named_child(0)?.child_by_field_name("declarator")?;
            let known = declarator.child_by_field_name("value")?;
            self.size(&value, known, 0).filter(|_| !root.has_error())
        });
        if let Some(found) = found {
            self.constants.insert(name.to_string(), found);
        }
    }
}

/// Types with a longer text are not compared: the text of a structure contains those of all
/// structures in it.
const LONGEST_TYPE: usize = 100;

/// Whether this is the name of a type of one byte.
fn is_byte(name: &str) -> bool {
    name.len() <= LONGEST_TYPE
        && BYTES
            .iter()
            .any(|known| known.split(' ').eq(name.split_whitespace()))
}

/// A number as C writes it.
fn number(word: &str) -> Option<u64> {
    let digits = word.trim_end_matches(['u', 'U', 'l', 'L']);
    let hexadecimal = digits.strip_prefix("0x").or(digits.strip_prefix("0X"));
    match hexadecimal {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None if digits.len() > 1 && digits.starts_with('0') => u64::from_str_radix(digits, 8).ok(),
        None => digits.parse().ok(),
    }
}
