//! Times and sizes as people write them, with units.

use std::str::FromStr;

use counterpoint_framework::model::diagnostics::nearest;

/// A time limit, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Limit(pub u64);

const TIMES: [(&str, u64); 4] = [("s", 1), ("min", 60), ("h", 3600), ("d", 86400)];

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let seconds = if text.contains(':') { clock(text) } else { with_unit(text, &TIMES)? };
        match seconds {
            Some(0) => Err("a time limit of nothing ends every task at once".to_owned()),
            Some(seconds) => Ok(Limit(seconds)),
            None => {
                Err("expected a time with its unit (s, min, h, d), such as `90 min`, or `1-12:00:00`"
                    .to_owned())
            }
        }
    }
}

impl std::fmt::Display for Limit {
    /// Formats the limit as Slurm writes it: `1-12:00:00`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (days, rest) = (self.0 / 86400, self.0 % 86400);
        if days > 0 {
            write!(f, "{days}-")?;
        }
        write!(f, "{:02}:{:02}:{:02}", rest / 3600, rest / 60 % 60, rest % 60)
    }
}

/// `D-HH:MM:SS`, `HH:MM:SS` or `MM:SS`.
fn clock(text: &str) -> Option<u64> {
    let (days, rest) = text.split_once('-').unwrap_or(("0", text));
    let parts = rest.split(':').map(|part| part.parse::<u64>().ok()).collect::<Option<Vec<_>>>()?;
    let seconds = match parts[..] {
        [minutes, seconds] if minutes < 1 << 20 && seconds < 60 => minutes * 60 + seconds,
        [hours, minutes, seconds] if hours < 1 << 20 && minutes < 60 && seconds < 60 => {
            hours * 3600 + minutes * 60 + seconds
        }
        _ => return None,
    };
    Some(days.parse::<u64>().ok()?.checked_mul(86400)? + seconds)
}

/// A number with a unit, rounded up to whole ones; nothing if it is no such thing.
fn with_unit(text: &str, units: &[(&str, u64)]) -> Result<Option<u64>, String> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = (text[..end].parse::<f64>().ok(), text[end..].trim());
    let Some(number) = number.filter(|number| *number < 1e9) else { return Ok(None) };
    let names = || units.iter().map(|(name, _)| *name);
    match units.iter().find(|(name, _)| *name == unit) {
        Some((_, factor)) => Ok(Some((number * *factor as f64).ceil() as u64)),
        None => {
            let known = names().collect::<Vec<_>>().join(", ");
            let near =
                names().find(|name| !unit.is_empty() && (unit.starts_with(*name) || name.starts_with(unit)));
            let near = near
                .or_else(|| nearest(unit, names()))
                .map(|near| format!("; did you mean `{number} {near}`?"));
            let said = if unit.is_empty() {
                "a unit is missing".to_owned()
            } else {
                format!("there is no unit `{unit}`")
            };
            Err(format!("{said}: it is one of {known}{}", near.unwrap_or_default()))
        }
    }
}

/// Memory of a task, in MiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Memory(pub u64);

const SIZES: [(&str, u64); 2] = [("MiB", 1), ("GiB", 1024)];

impl FromStr for Memory {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match with_unit(text, &SIZES)? {
            Some(0) => Err("a task needs some memory".to_owned()),
            Some(size) => Ok(Memory(size)),
            None => Err("expected a size with its unit (MiB, GiB), such as `2 GiB`".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units_or_are_written_as_slurm_does() {
        for (text, seconds) in [
            ("90 min", 5400),
            ("90min", 5400),
            ("1.5 h", 5400),
            ("45 s", 45),
            ("2 d", 172_800),
            ("1-12:00:00", 129_600),
            ("00:10:00", 600),
            ("10:30", 630),
        ] {
            assert_eq!(text.parse(), Ok(Limit(seconds)), "{text}");
        }
        for (text, expected) in [
            ("soon", "such as `90 min`"),
            ("", "such as `90 min`"),
            ("90", "a unit is missing: it is one of s, min, h, d"),
            ("2 hours", "there is no unit `hours`: it is one of s, min, h, d; did you mean `2 h`?"),
            ("3 m", "did you mean `3 min`?"),
            ("0 min", "ends every task at once"),
            ("1:75:00", "such as `90 min`"),
            ("-3 h", "such as `90 min`"),
        ] {
            let error = text.parse::<Limit>().unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
        assert_eq!(Limit(129_601).to_string(), "1-12:00:01");
        assert_eq!(Limit(600).to_string(), "00:10:00");
        assert_eq!("2 GiB".parse(), Ok(Memory(2048)));
        assert_eq!("100 MiB".parse(), Ok(Memory(100)));
        assert!("2 GB".parse::<Memory>().unwrap_err().contains("did you mean `2 GiB`?"));
        assert!("much".parse::<Memory>().unwrap_err().contains("such as `2 GiB`"));
    }
}
