//! Patterns of statistic names with a `*`, by which studies and comparisons choose.

/// Whether a path is one of a pattern, in which `*` matches anything but a point.
pub(crate) fn matches(pattern: &str, path: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == path,
        Some((before, rest)) => {
            let Some(tail) = path.strip_prefix(before) else { return false };
            let free = tail.find('.').unwrap_or(tail.len());
            (0..=free).filter(|&at| tail.is_char_boundary(at)).any(|at| matches(rest, &tail[at..]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything_within_a_part_of_the_path() {
        let cases = [
            ("gpu.l2[*].misses", "gpu.l2[12].misses", true),
            ("gpu.l2[*].misses", "gpu.l2[12].streams[1].misses", false),
            ("gpu.*.misses", "gpu.l2[1].misses", true),
            ("*", "misses", true),
            ("gpu.l2[*].*", "gpu.l2[0].hits", true),
            ("gpu.l2[0].hits", "gpu.l2[0].hits", true),
            ("gpu.l2[0].hits", "gpu.l2[0].hit", false),
        ];
        for (pattern, path, expected) in cases {
            assert_eq!(matches(pattern, path), expected, "{pattern} {path}");
        }
    }
}
