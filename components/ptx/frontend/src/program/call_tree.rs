//! Call graph of a kernel, and the registers or local memory that a chain of calls needs.

/// Calls among a kernel's functions; the first is the kernel.
#[derive(Clone, Debug)]
pub(crate) struct CallTree {
    edges: Vec<Vec<usize>>,
    is_recursive: bool,
}

impl CallTree {
    /// The tree of functions with these callees.
    pub(crate) fn new(edges: Vec<Vec<usize>>) -> Self {
        let is_recursive = has_cycle(&edges);
        CallTree { edges, is_recursive }
    }

    /// Whether some function can call itself.
    pub(crate) fn is_recursive(&self) -> bool {
        self.is_recursive
    }

    /// Whether any function calls one.
    pub(crate) fn has_calls(&self) -> bool {
        self.edges.iter().any(|callees| !callees.is_empty())
    }

    /// Need of the most demanding chain of calls, from the need of each function. With recursion: the kernel's and the largest of the
    /// others.
    pub(crate) fn together(&self, needs: &[u32]) -> u32 {
        match (self.is_recursive, needs) {
            (true, [kernel, others @ ..]) => kernel + others.iter().max().unwrap_or(&0),
            _ => longest_path(&self.edges, needs),
        }
    }
}

/// Whether some function can call itself. Without recursion: a file may have many functions.
fn has_cycle(edges: &[Vec<usize>]) -> bool {
    // Functions without callees are taken away until none is left, or only cycles.
    let mut waits: Vec<usize> = edges.iter().map(Vec::len).collect();
    let mut ready: Vec<usize> = (0..edges.len()).filter(|at| waits[*at] == 0).collect();
    let mut left = edges.len();
    while let Some(done) = ready.pop() {
        left -= 1;
        for (from, to) in edges.iter().enumerate() {
            let calls = to.iter().filter(|callee| **callee == done).count();
            if calls > 0 {
                waits[from] -= calls;
                if waits[from] == 0 {
                    ready.push(from);
                }
            }
        }
    }
    left > 0
}

/// The largest sum of weights along calls from the kernel, of a graph without cycles.
fn longest_path(edges: &[Vec<usize>], weights: &[u32]) -> u32 {
    let mut longest = weights.to_vec();
    for _ in 0..edges.len() {
        for from in 0..edges.len() {
            let deepest = edges[from].iter().map(|to| longest[*to]).max().unwrap_or(0);
            longest[from] = weights[from].saturating_add(deepest);
        }
    }
    longest[0]
}
