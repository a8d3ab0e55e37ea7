//! A function's statements in a row, with the scopes that its names are looked up in.

use std::collections::BTreeMap;

use counterpoint_ptx::ast::{Function, Instruction, Statement, StatementKind, StorageSpace, Variable};

use super::opcode::Type;

/// A function without its braces.
pub(crate) struct Code<'m> {
    pub(crate) function: &'m Function,
    pub(crate) steps: Vec<(usize, &'m Instruction)>,
    scopes: Vec<Scope<'m>>,
}

#[derive(Default)]
struct Scope<'m> {
    parent: Option<usize>,
    variables: BTreeMap<&'m str, &'m Variable>,
    labels: BTreeMap<&'m str, usize>,
}

/// A variable: its scope and its declaration.
pub(crate) type Found<'m> = (usize, &'m Variable);

impl<'m> Code<'m> {
    pub(crate) fn new(function: &'m Function) -> Self {
        let mut code = Code { function, steps: Vec::new(), scopes: vec![Scope::default()] };
        for variable in function.params.iter().chain(&function.results) {
            code.scopes[0].variables.insert(&variable.name, variable);
        }
        code.add(function.body.as_deref().unwrap_or(&[]), 0);
        code
    }

    fn add(&mut self, statements: &'m [Statement], scope: usize) {
        for statement in statements {
            match &statement.kind {
                StatementKind::Block(inner) => {
                    self.scopes.push(Scope { parent: Some(scope), ..Scope::default() });
                    self.add(inner, self.scopes.len() - 1);
                }
                StatementKind::Variable(variable) => {
                    self.scopes[scope].variables.insert(&variable.name, variable);
                }
                StatementKind::Label(name) => {
                    self.scopes[scope].labels.insert(name, self.steps.len());
                }
                StatementKind::Instruction(instruction) => self.steps.push((scope, instruction)),
                _ => {}
            }
        }
    }

    /// The variable of this name in a scope; `%r7` may be the seventh of `%r<10>`.
    pub(crate) fn find(&self, scope: usize, name: &str) -> Option<Found<'m>> {
        let prefix = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let mut next = Some(scope);
        while let Some(scope) = next {
            let variables = &self.scopes[scope].variables;
            let whole = variables.get(name).filter(|variable| variable.range.is_none());
            let ranged = variables.get(prefix).filter(|variable| variable.range.is_some());
            if let Some(variable) = whole.or(ranged) {
                return Some((scope, variable));
            }
            next = self.scopes[scope].parent;
        }
        None
    }

    /// The target of a label of a scope or one around it.
    pub(crate) fn label(&self, scope: usize, name: &str) -> usize {
        let mut next = Some(scope);
        while let Some(scope) = next {
            if let Some(&step) = self.scopes[scope].labels.get(name) {
                return step;
            }
            next = self.scopes[scope].parent;
        }
        panic!("no label `{name}`")
    }

    /// The variables of one space, in the order of their scopes and names.
    pub(crate) fn variables(&self, space: StorageSpace) -> impl Iterator<Item = Found<'m>> {
        let all = self.scopes.iter().enumerate();
        let all =
            all.flat_map(|(scope, names)| names.variables.values().map(move |variable| (scope, *variable)));
        all.filter(move |(_, variable)| variable.space == space)
    }
}

pub(crate) fn element(variable: &Variable) -> Type {
    Type::parse(&variable.element).unwrap_or_else(|| panic!("`.{}` is not a type", variable.element))
}

/// Bytes of a variable.
pub(crate) fn size(variable: &Variable) -> usize {
    let elements: u64 = variable.dimensions.iter().map(|dimension| dimension.expect("a size")).product();
    (elements * u64::from(variable.vector) * u64::from(element(variable).bits / 8)) as usize
}
