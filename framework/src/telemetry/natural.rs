//! The order of paths for readers: numbers in them by value.

use std::cmp::Ordering;

/// The order of paths in which `sm[2]` comes before `sm[10]`.
pub fn natural(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (a, b);
    loop {
        let (Some(x), Some(y)) = (left.chars().next(), right.chars().next()) else {
            return left.len().cmp(&right.len()).then_with(|| a.cmp(b));
        };
        if x.is_ascii_digit() && y.is_ascii_digit() {
            let ((first, left_rest), (second, right_rest)) = (digits(left), digits(right));
            // Without leading zeros the longer number is the larger, however long.
            let order = first.len().cmp(&second.len()).then_with(|| first.cmp(second));
            if order.is_ne() {
                return order;
            }
            (left, right) = (left_rest, right_rest);
        } else if x == y {
            (left, right) = (&left[x.len_utf8()..], &right[y.len_utf8()..]);
        } else {
            return x.cmp(&y);
        }
    }
}

/// The leading number without leading zeros, and the rest.
fn digits(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    (text[..end].trim_start_matches('0'), &text[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_paths_order_by_value() {
        let mut paths = ["gpu.sm[10]", "gpu.sm[2]", "gpu.sm", "gpu.l2[0].x", "gpu.sm[02]", "a"];
        paths.sort_by(|a, b| natural(a, b));
        assert_eq!(paths, ["a", "gpu.l2[0].x", "gpu.sm", "gpu.sm[02]", "gpu.sm[2]", "gpu.sm[10]"]);
    }
}
