//! `${…}`: arithmetic over named parameters, evaluated once while a file is read.
//!
//! Numbers are exact rationals. The quotient of two whole numbers is floored, as an index or a count wants it, except inside `ceil(…)`,
//! where it stays exact: `ceil(n / 16)` is the number of blocks of 16 that cover n.

use crate::model::diagnostics::nearest;
use crate::model::{Diagnostic, Diagnostics, Node, Span, Value};

use super::keys::KeyDoc;
pub use super::number::Number;

/// Deeper nesting is refused, so that evaluation cannot exhaust the stack.
const DEEPEST: usize = 64;

/// The functions, each with its arguments.
pub(super) const FUNCTIONS: [KeyDoc; 6] = [
    KeyDoc { name: "min", holds: "(a, b, …)", doc: "The smallest." },
    KeyDoc { name: "max", holds: "(a, b, …)", doc: "The largest." },
    KeyDoc {
        name: "ceil",
        holds: "(x)",
        doc: "x rounded up. Quotients in x are exact: `ceil(n / 16)` blocks of 16 cover n.",
    },
    KeyDoc { name: "log2", holds: "(x)", doc: "The logarithm of a power of two." },
    KeyDoc { name: "sqrt", holds: "(x)", doc: "The root of the square of a whole number." },
    KeyDoc {
        name: "random",
        holds: "(seed, index, count)",
        doc: "A whole number from 0 to count - 1, uniformly distributed, and always the same for a seed and an index.",
    },
];

/// An error in an expression, and its position in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpressionError {
    /// First byte of the offending part.
    pub start: usize,
    /// Its length in bytes.
    pub length: usize,
    /// The problem.
    pub message: String,
    /// The nearest valid name.
    pub suggestion: Option<String>,
}

impl ExpressionError {
    /// The error as a problem in a source text, where the expression begins `offset` bytes into `span`.
    pub fn diagnostic(self, span: Span, offset: usize) -> Diagnostic {
        let mut diagnostic =
            Diagnostic::new(span.part(offset + self.start, self.length.max(1)), self.message);
        diagnostic.suggestion = self.suggestion;
        diagnostic
    }
}

/// The values of names.
pub trait Names {
    /// The value of a name.
    fn value(&self, name: &str) -> Option<Number>;

    /// All names, for suggestions.
    fn names(&self) -> Vec<&str>;
}

impl Names for std::collections::BTreeMap<String, Number> {
    fn value(&self, name: &str) -> Option<Number> {
        self.get(name).copied()
    }

    fn names(&self) -> Vec<&str> {
        self.keys().map(String::as_str).collect()
    }
}

/// A parsed expression.
#[derive(Clone, Debug)]
pub struct Expression {
    root: Term,
}

#[derive(Clone, Debug)]
struct Term {
    start: usize,
    length: usize,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Number(Number),
    Name(String),
    Negate(Box<Term>),
    Binary(char, Box<Term>, Box<Term>),
    Call(&'static str, Vec<Term>),
}

impl Expression {
    /// Parses the text between the braces.
    ///
    /// # Errors
    /// The part that was not understood, with its position in the text.
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        let mut parser = Parser { text, at: 0, depth: 0 };
        let root = parser.sum()?;
        match parser.peek() {
            None => Ok(Expression { root }),
            Some(found) => Err(parser.error(format!("unexpected `{found}`"))),
        }
    }

    /// The name, if the expression is nothing but a name.
    pub fn as_name(&self) -> Option<&str> {
        match &self.root.kind {
            Kind::Name(name) => Some(name),
            _ => None,
        }
    }

    /// The names that occur, each with its position and length.
    pub fn names(&self) -> Vec<(&str, usize, usize)> {
        let mut names = Vec::new();
        self.root.visit(&mut |term| {
            if let Kind::Name(name) = &term.kind {
                names.push((name.as_str(), term.start, term.length));
            }
        });
        names
    }

    /// The value, with the values of names from `names`.
    ///
    /// # Errors
    /// The part without a value, with its position in the text: an unknown name, a division by zero, a number that is too
    /// large.
    pub fn evaluate(&self, names: &dyn Names) -> Result<Number, ExpressionError> {
        self.root.evaluate(names, false)
    }
}

/// A pseudo-random number from 0 to `count` - 1 for a seed and an index: all numbers are about equally frequent, and neighbouring
/// indices are uncorrelated. The count is at most 2^32.
pub fn random(seed: u64, index: u64, count: u64) -> u64 {
    // The finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014) over a sequence that steps by the golden ratio, for the seed and
    // once more for the index.
    let mix = |word: u64| {
        let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    };
    let golden = 0x9e37_79b9_7f4a_7c15_u64;
    let of_seed = mix(seed.wrapping_add(1).wrapping_mul(golden));
    ((mix(of_seed.wrapping_add(index.wrapping_add(1).wrapping_mul(golden))) >> 32) * count) >> 32
}

impl Expression {
    /// The value in floating-point numbers, where every quotient is exact: for measured values, not counts.
    ///
    /// # Errors
    /// As [`Expression::evaluate`]; a division by zero is none, and gives no finite value.
    pub fn evaluate_real(&self, names: &dyn Fn(&str) -> Option<f64>) -> Result<f64, ExpressionError> {
        self.root.real(names)
    }
}

impl Term {
    fn real(&self, names: &dyn Fn(&str) -> Option<f64>) -> Result<f64, ExpressionError> {
        let value = match &self.kind {
            Kind::Number(number) => number.as_float(),
            Kind::Name(name) => {
                return names(name).ok_or_else(|| self.error(format!("`{name}` has no value here")));
            }
            Kind::Negate(inner) => -inner.real(names)?,
            Kind::Binary(operator, left, right) => {
                let (a, b) = (left.real(names)?, right.real(names)?);
                match operator {
                    '+' => a + b,
                    '-' => a - b,
                    '*' => a * b,
                    '%' => a.rem_euclid(b),
                    _ => a / b,
                }
            }
            Kind::Call(function, arguments) => {
                let values = arguments.iter().map(|argument| argument.real(names));
                let values: Vec<f64> = values.collect::<Result<_, _>>()?;
                match (*function, values.as_slice()) {
                    ("ceil", [value]) => value.ceil(),
                    ("log2", [value]) => libm::log2(*value),
                    ("sqrt", [value]) => value.sqrt(),
                    ("min", [first, rest @ ..]) => rest.iter().copied().fold(*first, f64::min),
                    ("max", [first, rest @ ..]) => rest.iter().copied().fold(*first, f64::max),
                    _ => return Err(self.arguments(function)),
                }
            }
        };
        Ok(value)
    }

    fn visit<'a>(&'a self, visitor: &mut dyn FnMut(&'a Term)) {
        visitor(self);
        match &self.kind {
            Kind::Number(_) | Kind::Name(_) => {}
            Kind::Negate(inner) => inner.visit(visitor),
            Kind::Binary(_, left, right) => {
                left.visit(visitor);
                right.visit(visitor);
            }
            Kind::Call(_, arguments) => arguments.iter().for_each(|argument| argument.visit(visitor)),
        }
    }

    fn evaluate(&self, names: &dyn Names, exact: bool) -> Result<Number, ExpressionError> {
        let value = match &self.kind {
            Kind::Number(number) => Some(*number),
            Kind::Name(name) => {
                return names.value(name).ok_or_else(|| {
                    let known = names.names();
                    if known.contains(&name.as_str()) {
                        return self.error(format!("`{name}` is not a plain number"));
                    }
                    let mut error = self.error(format!("unknown name `{name}`"));
                    error.suggestion = nearest(name, known).map(str::to_owned);
                    error
                });
            }
            Kind::Negate(inner) => inner.evaluate(names, exact)?.negate(),
            Kind::Binary(operator, left, right) => {
                let (a, b) = (left.evaluate(names, exact)?, right.evaluate(names, exact)?);
                if matches!(operator, '/' | '%') && b.is_zero() {
                    return Err(right.error("division by zero".into()));
                }
                match operator {
                    '+' => a.add(b),
                    '-' => b.negate().and_then(|b| a.add(b)),
                    '*' => a.multiply(b),
                    '%' => a.remainder(b),
                    _ if exact || !a.is_whole() || !b.is_whole() => a.divide(b),
                    _ => a.divide(b).map(Number::floor),
                }
            }
            Kind::Call(function, arguments) => return self.call(function, arguments, names, exact),
        };
        value.ok_or_else(|| self.error("the number is too large".into()))
    }

    fn call(
        &self,
        function: &str,
        arguments: &[Term],
        names: &dyn Names,
        exact: bool,
    ) -> Result<Number, ExpressionError> {
        let exact = exact || function == "ceil";
        let mut values = Vec::new();
        for argument in arguments {
            values.push(argument.evaluate(names, exact)?);
        }
        let too_large = || self.error("the number is too large".into());
        match (function, values.as_slice()) {
            ("ceil", [value]) => value.ceil().ok_or_else(too_large),
            ("log2", [value]) => {
                let message = || self.error(format!("log2 of {value}, which is not a power of two"));
                value.log2().ok_or_else(message)
            }
            ("sqrt", [value]) => {
                let message =
                    || self.error(format!("sqrt of {value}, which is not a square of a whole number"));
                value.sqrt().ok_or_else(message)
            }
            ("min" | "max", [first, rest @ ..]) => {
                let mut best = *first;
                for value in rest {
                    let (small, large) = if function == "min" { (*value, best) } else { (best, *value) };
                    if small.less(large).ok_or_else(too_large)? {
                        best = *value;
                    }
                }
                Ok(best)
            }
            ("random", [seed, index, count]) => {
                let [seed, index, count] = [seed, index, count]
                    .map(|value| value.as_whole().and_then(|value| u64::try_from(value).ok()));
                let count = count.filter(|count| (1..=1 << 32).contains(count));
                let (Some(seed), Some(index), Some(count)) = (seed, index, count) else {
                    return Err(self.arguments(function));
                };
                Ok(Number::whole(random(seed, index, count) as i64))
            }
            _ => Err(self.arguments(function)),
        }
    }

    fn arguments(&self, function: &str) -> ExpressionError {
        let takes = match function {
            "random" => {
                "a seed, an index, and how many numbers there are, 1 to 4294967296: whole ones, and nothing measured"
            }
            _ => "one argument",
        };
        self.error(format!("`{function}` takes {takes}"))
    }

    fn error(&self, message: String) -> ExpressionError {
        ExpressionError { start: self.start, length: self.length, message, suggestion: None }
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn sum(&mut self) -> Result<Term, ExpressionError> {
        self.chain(&['+', '-'], Self::product)
    }

    fn product(&mut self) -> Result<Term, ExpressionError> {
        self.chain(&['*', '/', '%'], Self::factor)
    }

    fn chain(
        &mut self,
        operators: &[char],
        operand: fn(&mut Self) -> Result<Term, ExpressionError>,
    ) -> Result<Term, ExpressionError> {
        let mut left = operand(self)?;
        let mut links = 0;
        while let Some(operator) = self.peek().filter(|next| operators.contains(next)) {
            links += 1;
            if links > DEEPEST {
                return Err(self.error("the expression is too long".into()));
            }
            self.at += 1;
            let right = operand(self)?;
            let (start, end) = (left.start, right.start + right.length);
            let kind = Kind::Binary(operator, Box::new(left), Box::new(right));
            left = Term { start, length: end - start, kind };
        }
        Ok(left)
    }

    fn factor(&mut self) -> Result<Term, ExpressionError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.error("the expression is nested too deeply".into()));
        }
        let term = self.factor_inside();
        self.depth -= 1;
        term
    }

    fn factor_inside(&mut self) -> Result<Term, ExpressionError> {
        let next = self.peek();
        let start = self.at;
        match next {
            Some('(') => {
                self.at += 1;
                let inner = self.sum()?;
                self.expect(')')?;
                Ok(Term { start, length: self.at - start, kind: inner.kind })
            }
            Some('-') => {
                self.at += 1;
                let inner = self.factor()?;
                Ok(Term { start, length: self.at - start, kind: Kind::Negate(Box::new(inner)) })
            }
            Some(c) if c.is_ascii_digit() => {
                let word = self.take(|c| c.is_ascii_alphanumeric() || c == '.' || c == '_');
                match Number::parse(word) {
                    Some(number) => Ok(Term { start, length: self.at - start, kind: Kind::Number(number) }),
                    None => {
                        let (message, length) = (format!("`{word}` is not a number"), word.len());
                        Err(ExpressionError { start, length, message, suggestion: None })
                    }
                }
            }
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                // A name may have a prefix, as in `baseline.time`.
                let word = self.take(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.')).to_owned();
                let length = self.at - start;
                if self.peek() != Some('(') {
                    return Ok(Term { start, length, kind: Kind::Name(word) });
                }
                let Some(function) = FUNCTIONS.iter().find(|function| function.name == word) else {
                    let names = super::keys::names(&FUNCTIONS);
                    let message = format!("unknown function `{word}`; there are {}", names.join(", "));
                    return Err(ExpressionError { start, length, message, suggestion: None });
                };
                let arguments = self.arguments()?;
                Ok(Term { start, length: self.at - start, kind: Kind::Call(function.name, arguments) })
            }
            Some(found) => Err(self.error(format!("unexpected `{found}`"))),
            None => Err(self.error("the expression ends where a number or a name is due".into())),
        }
    }

    fn arguments(&mut self) -> Result<Vec<Term>, ExpressionError> {
        self.expect('(')?;
        let mut arguments = vec![self.sum()?];
        while self.peek() == Some(',') {
            self.at += 1;
            arguments.push(self.sum()?);
        }
        self.expect(')')?;
        Ok(arguments)
    }

    fn take(&mut self, accept: fn(char) -> bool) -> &str {
        let rest = &self.text[self.at..];
        let length = rest.find(|c| !accept(c)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    fn expect(&mut self, wanted: char) -> Result<(), ExpressionError> {
        match self.peek() {
            Some(found) if found == wanted => {
                self.at += 1;
                Ok(())
            }
            Some(found) => Err(self.error(format!("expected `{wanted}`, found `{found}`"))),
            None => Err(self.error(format!("expected `{wanted}` before the end"))),
        }
    }

    /// The next character that is not a blank.
    fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        self.text[self.at..].chars().next()
    }

    fn error(&self, message: String) -> ExpressionError {
        ExpressionError { start: self.at, length: 1, message, suggestion: None }
    }
}

/// The value of `${name}` alone: any value, not only a number.
pub trait Scope: Names {
    /// The value that a name was given, as it was written.
    fn node(&self, name: &str) -> Option<&Node>;
}

/// Replaces every `${…}` in a tree. A scalar that is nothing but `${name}` becomes the named value as it was written;
/// any other expression becomes the text of its number.
pub fn substitute(node: &Node, scope: &dyn Scope, diagnostics: &mut Diagnostics) -> Option<Node> {
    match &node.value {
        Value::Null => Some(node.clone()),
        Value::Scalar { text, quoted } => scalar(text, *quoted, node.span, scope, diagnostics),
        Value::List(items) => {
            let items: Vec<_> = items.iter().map(|item| substitute(item, scope, diagnostics)).collect();
            Some(Node { span: node.span, value: Value::List(items.into_iter().collect::<Option<_>>()?) })
        }
        Value::Map(entries) => {
            let one = |(key, value): &(_, Node), diagnostics: &mut _| {
                substitute(value, scope, diagnostics).map(|value| (Clone::clone(key), value))
            };
            let entries: Vec<_> = entries.iter().map(|entry| one(entry, diagnostics)).collect();
            Some(Node { span: node.span, value: Value::Map(entries.into_iter().collect::<Option<_>>()?) })
        }
    }
}

fn scalar(
    text: &str,
    quoted: bool,
    span: Span,
    scope: &dyn Scope,
    diagnostics: &mut Diagnostics,
) -> Option<Node> {
    let mut out = String::new();
    let mut at = 0;
    let inset = usize::from(quoted);
    while let Some(found) = text[at..].find("${") {
        let start = at + found + 2;
        let Some(length) = text[start..].find('}') else {
            diagnostics.error(span.part(inset + start - 2, 2), "`${` is not closed by `}`");
            return None;
        };
        let inside = &text[start..start + length];
        out.push_str(&text[at..start - 2]);
        at = start + length + 1;
        let parsed = Expression::parse(inside);
        let whole = out.is_empty() && at == text.len();
        let name = parsed.as_ref().ok().and_then(Expression::as_name);
        if let Some((name, node)) = name.and_then(|name| Some((name, scope.node(name)?))) {
            if whole {
                return Some(node.clone());
            }
            if node.as_scalar().is_some_and(|text| Number::parse(text).is_none()) {
                let message = format!("`{name}` has a unit of its own, so nothing may stand beside it");
                diagnostics.error(span.part(inset + start, inside.len()), message);
                return None;
            }
        }
        let value = parsed.and_then(|expression| {
            let value = expression.evaluate(scope)?;
            value.to_text().ok_or_else(|| ExpressionError {
                start: 0,
                length: inside.len(),
                message: format!("{value} has no finite decimal"),
                suggestion: None,
            })
        });
        match value {
            Ok(value) => out.push_str(&value),
            Err(error) => {
                diagnostics.report(error.diagnostic(span, inset + start));
                return None;
            }
        }
    }
    out.push_str(&text[at..]);
    Some(Node { span, value: Value::Scalar { text: out, quoted } })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn value(text: &str) -> Result<String, String> {
        let names: BTreeMap<String, Number> = [("n", 33), ("slices", 2), ("zero", 0)]
            .map(|(name, n)| (name.to_owned(), Number::whole(n)))
            .into();
        let result = Expression::parse(text).and_then(|expression| expression.evaluate(&names));
        result.map(|number| number.to_string()).map_err(|error| error.message)
    }

    #[test]
    fn arithmetic_has_the_usual_precedence() {
        for (text, expected) in [
            ("1 + 2 * 3", "7"),
            ("(1 + 2) * 3", "9"),
            ("10 - 4 - 3", "3"),
            ("-n + 1", "-32"),
            ("n / 16", "2"),
            ("(n / 16) * 16", "32"),
            ("-1 / 2", "-1"),
            ("-1 % 3", "2"),
            ("ceil(n / 16)", "3"),
            ("ceil(n / 16 / 2)", "2"),
            ("ceil(32 / 16)", "2"),
            ("min(3, n, 2)", "2"),
            ("max(3, n)", "33"),
            ("log2(64)", "6"),
            ("sqrt(n * n)", "33"),
            ("random(1, n, 1)", "0"),
            ("random(1, n, 8) + random(1, n + 1, 8)", "7"),
            ("0.5 * n", "16.5"),
            ("1_000", "1000"),
        ] {
            assert_eq!(value(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn all_random_numbers_come_about_as_often() {
        for seed in 0..4 {
            let mut found = [0; 8];
            (0..8000).for_each(|index| found[random(seed, index, 8) as usize] += 1);
            assert!(found.iter().all(|count| (900..1100).contains(count)), "{found:?}");
            let pairs =
                (0..8000).filter(|index| random(seed, *index, 8) == random(seed, index + 1, 8)).count();
            assert!((900..1100).contains(&pairs), "{pairs}");
        }
        assert_eq!(random(u64::MAX, u64::MAX, 1 << 32) >> 32, 0);
    }

    #[test]
    fn mistakes_are_named() {
        for (text, message) in [
            ("n / zero", "division by zero"),
            ("n % 0", "division by zero"),
            ("m", "unknown name `m`"),
            ("n +", "the expression ends where a number or a name is due"),
            ("(n", "expected `)` before the end"),
            ("n n", "unexpected `n`"),
            ("log2(33)", "log2 of 33, which is not a power of two"),
            ("sqrt(8)", "sqrt of 8, which is not a square of a whole number"),
            ("root(4)", "unknown function `root`; there are min, max, ceil, log2, sqrt, random"),
            ("4k", "`4k` is not a number"),
            ("ceil(1, 2)", "`ceil` takes one argument"),
            (
                "random(1, n, zero)",
                "`random` takes a seed, an index, and how many numbers there are, 1 to 4294967296: whole ones, and nothing measured",
            ),
        ] {
            assert_eq!(value(text).as_ref().map_err(String::as_str), Err(message), "{text}");
        }
        let deep = format!("{}1{}", "(".repeat(10_000), ")".repeat(10_000));
        assert!(value(&deep).is_err());
        assert!(value(&"-".repeat(10_000)).is_err());
        assert!(value(&format!("1{}", "+1".repeat(10_000))).is_err());
        assert!(value(&format!("{0}*{0}*{0}", "9".repeat(30))).is_err());
    }
}
