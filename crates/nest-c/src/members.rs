//! The types of variables and members that a specification declares: which are arrays, which are
//! atomic, and what members they have. Nothing is known of the members of a type that it does not
//! declare, or declares twice. Must not know: where pointers lead, who writes.

use crate::library::children;
use crate::scope::{declared, path_to_name};
use std::collections::{BTreeMap, BTreeSet};
use tree_sitter::Node;

/// Structures that are looked through for a member that stands in one without a name.
const INNER: usize = 64;

/// A type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Type {
    /// How many dimensions it has; 0: it is no array.
    pub(crate) dimensions: usize,
    /// Whether its elements, or itself, are atomic.
    pub(crate) atomic: bool,
    /// How often an element must be dereferenced until it is no pointer.
    pointers: usize,
    /// The structure that is found then, by its number.
    structure: Option<usize>,
}

impl Type {
    /// Of an element, or of what a pointer leads to.
    pub(crate) fn element(self) -> Option<Type> {
        if self.dimensions > 0 {
            let dimensions = self.dimensions - 1;
            return Some(Type { dimensions, ..self });
        }
        let pointers = self.pointers.checked_sub(1)?;
        Some(Type {
            pointers,
            atomic: false,
            ..self
        })
    }

    /// Of its address. That of an array is no pointer to an element.
    pub(crate) fn address(self) -> Option<Type> {
        (self.dimensions == 0).then_some(Type {
            pointers: self.pointers + 1,
            atomic: false,
            ..self
        })
    }

    /// That of a variable which a declarator declares, with its name. None: it is of another kind,
    /// such as a pointer to an array.
    fn of<'t>(self, text: &'t str, declarator: Node<'_>) -> Option<(&'t str, Option<Type>)> {
        let path = path_to_name(declarator)?;
        let (name, around) = path.split_last()?;
        let mut found = self;
        let (mut dimensions, mut pointers) = (0, 0);
        let mut is_known = true;
        for node in around.iter().rev() {
            match node.kind() {
                "parenthesized_declarator" | "attributed_declarator" | "init_declarator" => {}
                "array_declarator" if pointers == 0 => dimensions += 1,
                "pointer_declarator" => {
                    if pointers == 0 {
                        let mut qualifiers = children(*node).into_iter();
                        found.atomic = qualifiers.any(|q| is_atomic(&text[q.byte_range()]));
                    }
                    pointers += 1;
                }
                _ => is_known = false,
            }
        }
        is_known &= pointers == 0 || self.dimensions == 0;
        found.dimensions += dimensions;
        found.pointers += pointers;
        Some((&text[name.byte_range()], is_known.then_some(found)))
    }
}

/// A `struct` or `union`.
#[derive(Default)]
struct Structure {
    members: BTreeMap<String, Type>,
    /// Those in it that have no name, whose members are its own.
    inner: Vec<usize>,
}

/// The types of a specification. `None` stands for a name that has several meanings, or one that is not
/// understood.
#[derive(Default)]
pub(crate) struct Types {
    structures: Vec<Structure>,
    tags: BTreeMap<String, Option<usize>>,
    aliases: BTreeMap<String, Option<Type>>,
    variables: Names,
}

/// Variables and their types.
pub(crate) type Names = BTreeMap<String, Option<Type>>;

/// Adds a name; what it meant before must be the same.
fn add<T: PartialEq>(names: &mut BTreeMap<String, Option<T>>, name: &str, meaning: Option<T>) {
    match names.get_mut(name) {
        Some(known) if *known == meaning => {}
        Some(known) => *known = None,
        None => {
            names.insert(name.to_string(), meaning);
        }
    }
}

/// The structures that nodes define, by the numbers of nodes.
type Defined = BTreeMap<usize, usize>;

impl Types {
    /// Of what stands at file scope.
    pub(crate) fn of(text: &str, root: Node<'_>) -> Types {
        let all = in_order(root, |node| node.kind() == "compound_statement");
        let mut types = Types::default();
        let mut defined = Defined::new();
        for node in &all {
            if is_structure(*node) && node.child_by_field_name("body").is_some() {
                let number = types.structures.len();
                types.structures.push(Structure::default());
                defined.insert(node.id(), number);
                if let Some(tag) = node.child_by_field_name("name") {
                    add(&mut types.tags, &text[tag.byte_range()], Some(number));
                }
            }
        }
        for node in all {
            match node.kind() {
                "type_definition" => {
                    for (name, found) in types.declares(text, node, &defined) {
                        add(&mut types.aliases, name, found);
                    }
                }
                "declaration" => {
                    for (name, found) in types.declares(text, node, &defined) {
                        add(&mut types.variables, name, found);
                    }
                }
                _ => {
                    if let Some(number) = defined.get(&node.id()) {
                        types.structures[*number] = types.structure(text, node, &defined);
                    }
                }
            }
        }
        types
    }

    fn structure(&self, text: &str, node: Node<'_>, defined: &Defined) -> Structure {
        let mut found = Structure::default();
        let mut todo: Vec<Node<'_>> = node.child_by_field_name("body").into_iter().collect();
        while let Some(node) = todo.pop() {
            if node.kind() != "field_declaration" {
                let inside = node.kind() == "field_declaration_list";
                if inside || node.kind().starts_with("preproc_") {
                    todo.extend(children(node));
                }
                continue;
            }
            if node.child_by_field_name("declarator").is_none() {
                let of = self.specified(text, node, defined);
                found.inner.extend(of.and_then(|of| of.structure));
            }
            for (name, of) in self.declares(text, node, defined) {
                match of {
                    Some(of) if found.members.get(name).is_none_or(|known| *known == of) => {
                        found.members.insert(name.to_string(), of);
                    }
                    // Alternatives of the preprocessor that differ; nothing is certain then.
                    _ => {
                        found.members.insert(name.to_string(), Type::default());
                    }
                }
            }
        }
        found
    }

    /// The type that the specifiers of a declaration name.
    fn specified(&self, text: &str, declaration: Node<'_>, defined: &Defined) -> Option<Type> {
        let named = declaration.child_by_field_name("type")?;
        let word = &text[named.byte_range()];
        let mut found = match named.kind() {
            _ if is_structure(named) => {
                let structure = if named.child_by_field_name("body").is_some() {
                    defined.get(&named.id()).copied()
                } else {
                    let tag = named.child_by_field_name("name");
                    let tag = tag.and_then(|tag| self.tags.get(&text[tag.byte_range()]));
                    tag.copied().flatten()
                };
                Type {
                    structure,
                    ..Type::default()
                }
            }
            "type_identifier" => match self.aliases.get(word) {
                Some(alias) => (*alias)?,
                None => Type::default(),
            },
            _ => Type::default(),
        };
        let mut words = children(declaration).into_iter();
        found.atomic |= words.any(|word| is_atomic(&text[word.byte_range()]));
        Some(found)
    }

    /// What a declaration declares.
    fn declares<'t>(
        &self,
        text: &'t str,
        declaration: Node<'_>,
        defined: &Defined,
    ) -> Vec<(&'t str, Option<Type>)> {
        let base = self.specified(text, declaration, defined);
        let mut cursor = declaration.walk();
        let all = declaration.children_by_field_name("declarator", &mut cursor);
        let all = all.filter_map(|declarator| {
            let (name, found) = base.unwrap_or_default().of(text, declarator)?;
            Some((name, found.filter(|_| base.is_some())))
        });
        all.collect()
    }

    /// The type before the declarators of a declaration.
    pub(crate) fn before(&self, text: &str, declaration: Node<'_>) -> Type {
        let found = self.specified(text, declaration, &Defined::new());
        found.unwrap_or_default()
    }

    /// What a body and its parameters declare.
    pub(crate) fn locals(&self, text: &str, all: &[Node<'_>], list: Option<Node<'_>>) -> Names {
        let mut found = Names::new();
        let parameters = list.map_or_else(Vec::new, |list| in_order(list, |_| false));
        for node in all.iter().chain(&parameters) {
            if matches!(node.kind(), "declaration" | "parameter_declaration") {
                for (name, of) in self.declares(text, *node, &Defined::new()) {
                    add(&mut found, name, of);
                }
            }
        }
        found
    }

    /// That of a variable at file scope.
    pub(crate) fn variable(&self, name: &str) -> Option<Type> {
        self.variables.get(name).copied().flatten()
    }

    /// The one that a cast gives.
    pub(crate) fn cast(&self, text: &str, descriptor: Node<'_>) -> Option<Type> {
        let mut found = self.specified(text, descriptor, &Defined::new())?;
        let mut next = descriptor.child_by_field_name("declarator");
        while let Some(node) = next {
            if node.kind() != "abstract_pointer_declarator" {
                return None;
            }
            found = found.address()?;
            next = node.child_by_field_name("declarator");
        }
        Some(found)
    }

    /// That of a member.
    pub(crate) fn member(&self, of: Type, name: &str) -> Option<Type> {
        if of.dimensions + of.pointers > 0 {
            return None;
        }
        let mut todo = vec![of.structure?];
        for _ in 0..INNER {
            let structure = &self.structures[todo.pop()?];
            if let Some(found) = structure.members.get(name) {
                return Some(*found);
            }
            todo.extend(&structure.inner);
        }
        None
    }
}

fn is_structure(node: Node<'_>) -> bool {
    matches!(node.kind(), "struct_specifier" | "union_specifier")
}

pub(crate) fn is_atomic(word: &str) -> bool {
    word.starts_with("_Atomic") || word.starts_with("atomic_")
}

/// The nodes under a node in the order of the text, without those under nodes that are `left` out.
fn in_order<'t>(root: Node<'t>, left: impl Fn(Node<'t>) -> bool) -> Vec<Node<'t>> {
    let (mut all, mut todo) = (Vec::new(), vec![root]);
    while let Some(node) = todo.pop() {
        if left(node) {
            continue;
        }
        all.push(node);
        todo.extend(children(node).into_iter().rev());
    }
    all
}

/// All names that declarations and parameters in a tree declare.
pub(crate) fn names(text: &str, root: Node<'_>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut todo = vec![root];
    while let Some(node) = todo.pop() {
        if matches!(node.kind(), "declaration" | "parameter_declaration") {
            let mut cursor = node.walk();
            let all = node.children_by_field_name("declarator", &mut cursor);
            let all = all.map(|d| d.child_by_field_name("declarator").unwrap_or(d));
            let all = all.filter_map(declared);
            found.extend(all.map(|name| text[name.byte_range()].to_string()));
        }
        todo.extend(children(node));
    }
    found
}
